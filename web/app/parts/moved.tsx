/** Says that a pane follows another session than before. */
import type { JSX } from 'preact';

import { hashOf } from '../route';
import { code } from '../text';
import type { Moved } from '../wire/conversation';
import { fixedName } from './place';

/** One name, or a file that was written anew: the daemon counts these behind a `~`. */
const isRewritten = ({ from, to }: Moved): boolean => from.split('~')[0] === to.split('~')[0];

const SIGNS = 8;

/** As much of the names as tells them apart: their beginnings, or else their ends. */
export function shortNames({ from, to }: Moved): readonly [string, string] {
  if (from.length <= SIGNS || to.length <= SIGNS) return [from, to];
  if (from.slice(0, SIGNS) !== to.slice(0, SIGNS)) return [from.slice(0, SIGNS), to.slice(0, SIGNS)];
  return [`…${from.slice(-SIGNS)}`, `…${to.slice(-SIGNS)}`];
}

export function movedText(moved: Moved): string {
  return isRewritten(moved) ? 'The session was written anew' : 'New session';
}

/** The line above its first entry. */
export function MovedLine({ moved }: { readonly moved: Moved }): JSX.Element {
  return (
    <span class="moved">
      <span>{movedText(moved)}</span>
      {!isRewritten(moved) && <Names moved={moved} />}
    </span>
  );
}

/** What is said when it happens, with the way to the session that is shown no more. */
export function MovedNotice({ moved, kind, onClose }: { readonly moved: Moved; readonly kind: string; readonly onClose: () => void }): JSX.Element {
  const old = isRewritten(moved) ? undefined : fixedName(kind, moved.from);
  return (
    <p class="aside">
      <span>{movedText(moved)}. {!isRewritten(moved) && <Names moved={moved} />}</span>
      {old && <a class="more" href={hashOf({ page: 'pane', pane: old })}>The old one</a>}
      <button type="button" class="more" onClick={onClose}>Close</button>
    </p>
  );
}

function Names({ moved }: { readonly moved: Moved }): JSX.Element {
  const [from, to] = shortNames(moved);
  return <code dir="ltr">{code(from)} <span class="unseen">to</span><span aria-hidden="true">→</span> {code(to)}</code>;
}
