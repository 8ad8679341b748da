/** What keys do. */
import type { JSX } from 'preact';

const KEYS: readonly (readonly [string, string])[] = [
  ['j  k', 'next, previous entry or pane'],
  ['g  G', 'oldest loaded, newest entry; first, last pane'],
  ['Enter', 'open or fold the entry'],
  ['/', 'search, filter'],
  ['i', 'write to the agent'],
  ['s', 'subagents'],
  ['y', 'copy a link to the entry'],
  ['u  Esc', 'back'],
  ['?', 'this list'],
];

export function Keys(): JSX.Element {
  return (
    <dl class="keys">
      {KEYS.map(([keys, does]) => (
        <div key={keys}>
          <dt>{keys.split('  ').map((key) => <kbd key={key}>{key}</kbd>)}</dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Whether keys belong to what is being typed in. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}
