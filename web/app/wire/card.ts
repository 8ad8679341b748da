/** The card of a pane, as new as it needs to be while somebody looks at it. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { get, Refused } from './api';
import type { Card } from './frames';

const POLL_MS = 2_000;
const SOON_MS = 250;

/** `pulse`: when it changes, the card is asked for at once. */
export function useCard(pane: string, isWanted: boolean, pulse: unknown): { readonly card: Card | undefined; readonly isGone: boolean; readonly look: () => void } {
  const [card, setCard] = useState<Card | undefined>();
  const [isGone, setGone] = useState(false);
  const soon = useRef<() => void>(() => undefined);
  useEffect(() => {
    setCard(undefined);
    setGone(false);
    if (!isWanted) return;
    let ended = false;
    let asking = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const after = (wait: number) => {
      clearTimeout(timer);
      if (!ended) timer = setTimeout(() => void ask(), wait);
    };
    const ask = async () => {
      if (asking || document.visibilityState !== 'visible') return after(POLL_MS);
      asking = true;
      try {
        const next = await get<Card>('agent-state', { pane });
        if (!ended) {
          setCard(next);
          setGone(false);
        }
      } catch (error) {
        if (!ended && error instanceof Refused) {
          // A question that may no longer stand is not offered.
          setCard(undefined);
          setGone(error.status === 404);
        }
      } finally {
        asking = false;
        after(POLL_MS);
      }
    };
    soon.current = () => after(SOON_MS);
    void ask();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [pane, isWanted]);
  const look = useCallback(() => soon.current(), []);
  useEffect(look, [pulse, look]);
  return { card, isGone, look };
}
