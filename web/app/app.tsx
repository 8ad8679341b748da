/** The whole view: what the address says, and the list of panes beside it where there is room. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { PairPage } from './pages/pair';
import { PanePage } from './pages/pane';
import { PanesPage } from './pages/panes';
import { SettingsPage } from './pages/settings';
import { route } from './route';
import { device } from './wire/device';

export function App(): JSX.Element {
  const at = route.value;
  const isWide = useWide();
  useFocus(JSON.stringify([device.value === undefined, at.page, at.page === 'pane' && [at.pane, at.subagent]]));
  if (at.page === 'pair') return <PairPage key={at.code} code={at.code} />;
  if (!device.value) return <PairPage code="" />;
  if (at.page === 'settings') return <SettingsPage />;
  const pane = at.page === 'pane' ? <PanePage key={`${at.pane}/${at.subagent ?? ''}`} pane={at.pane} subagent={at.subagent} seq={at.seq} /> : undefined;
  // One tree for both: a tablet that is turned keeps its conversation, and the place in it.
  return (
    <div class={isWide ? 'split' : 'single'}>
      {(isWide || !pane) && <PanesPage key="panes" />}
      {pane ?? (isWide && <main class="nobody"><p>Choose a pane to follow it.</p></main>)}
    </div>
  );
}

/** Who goes somewhere by the keyboard or hears the page is at its head then, not nowhere. */
function useFocus(place: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    const wasFirst = isFirst.current;
    isFirst.current = false;
    if (wasFirst || document.activeElement !== document.body) return;
    (document.querySelector<HTMLElement>('main h1') ?? document.querySelector<HTMLElement>('h1'))?.focus({ preventScroll: true });
  }, [place]);
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
