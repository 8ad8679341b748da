/** In words: whether what is shown is what is so. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import type { Link } from '../wire/stream';

export function LinkState({ link, onRetry }: { readonly link: Link; readonly onRetry: () => void }): JSX.Element {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    if (link.kind !== 'offline') return;
    tick(Date.now());
    const timer = setInterval(() => tick(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [link]);
  const canRetry = link.kind === 'offline' || link.kind === 'refused';
  return (
    <span class={`link-state ${link.kind}`}>
      <span class="dot" aria-hidden="true" />
      <span role="status">{WORDS[link.kind]}</span>
      {link.kind === 'offline' && <span aria-hidden="true">· again in {Math.max(0, Math.ceil((link.retryAt - now) / 1000))} s</span>}
      {canRetry && <button type="button" class="more" onClick={onRetry}>Try now</button>}
    </span>
  );
}

const WORDS = {
  connecting: 'connecting',
  'catching-up': 'catching up',
  live: 'live',
  offline: 'offline',
  refused: 'not available',
} as const;
