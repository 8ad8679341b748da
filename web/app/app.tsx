/** The whole view: what the address says, and the list of panes beside it where there is room. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { PairPage } from './pages/pair';
import { PanePage } from './pages/pane';
import { PanesPage } from './pages/panes';
import { SettingsPage } from './pages/settings';
import { route } from './route';
import { device } from './wire/device';

export function App(): JSX.Element {
  const at = route.value;
  const isWide = useWide();
  if (at.page === 'pair') return <PairPage code={at.code} />;
  if (!device.value) return <PairPage code="" />;
  if (at.page === 'settings') return <SettingsPage />;
  const pane = at.page === 'pane' ? <PanePage key={`${at.pane}/${at.subagent ?? ''}`} pane={at.pane} subagent={at.subagent} seq={at.seq} /> : undefined;
  if (!isWide) return pane ?? <PanesPage />;
  return (
    <div class="split">
      <PanesPage />
      {pane ?? <main class="nobody"><p>Choose a pane to follow it.</p></main>}
    </div>
  );
}

const WIDE = matchMedia('(min-width: 60rem)');

function useWide(): boolean {
  const [isWide, set] = useState(WIDE.matches);
  useEffect(() => {
    const changed = () => set(WIDE.matches);
    WIDE.addEventListener('change', changed);
    return () => WIDE.removeEventListener('change', changed);
  }, []);
  return isWide;
}
