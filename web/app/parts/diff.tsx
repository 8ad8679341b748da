/** A unified diff, line by line, with the part of a changed line that differs. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { code as harmless } from '../text';

export interface DiffLine {
  readonly kind: 'same' | 'gone' | 'new' | 'hunk' | 'note';
  readonly text: string;
  readonly number?: number | undefined;
  /** Where what differs from the line that it replaces begins and ends. */
  readonly mark?: readonly [number, number];
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;
const FOLDED_LINES = 16;

export function parseDiff(diff: string): DiffLine[] {
  let before = 0;
  let after = 0;
  const lines: DiffLine[] = diff.split('\n').map((line) => {
    const hunk = HUNK.exec(line);
    if (hunk) {
      before = Number(hunk[1]);
      after = Number(hunk[2]);
      return { kind: 'hunk', text: line };
    }
    const text = harmless(line.slice(1));
    if (line.startsWith('+')) return { kind: 'new', text, number: after++ };
    if (line.startsWith('-')) return { kind: 'gone', text, number: before++ };
    if (line.startsWith(' ') || line === '') {
      before += 1;
      return { kind: 'same', text, number: after++ };
    }
    return { kind: 'note', text: harmless(line) };
  });
  return marked(lines);
}

/** Pairs runs of removed lines with runs of new ones of the same length. */
function marked(lines: readonly DiffLine[]): DiffLine[] {
  const out = [...lines];
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at]?.kind !== 'gone') continue;
    let gone = at;
    while (lines[gone]?.kind === 'gone') gone += 1;
    let fresh = gone;
    while (lines[fresh]?.kind === 'new') fresh += 1;
    const pairs = gone - at;
    if (fresh - gone === pairs) {
      for (let pair = 0; pair < pairs; pair += 1) {
        const old = lines[at + pair];
        const now = lines[gone + pair];
        if (!old || !now) continue;
        const [head, tail] = common(old.text, now.text);
        // Lines that have little in common are two lines.
        if (head + tail < Math.max(old.text.length, now.text.length) / 3) continue;
        out[at + pair] = { ...old, mark: [head, old.text.length - tail] };
        out[gone + pair] = { ...now, mark: [head, now.text.length - tail] };
      }
    }
    at = fresh - 1;
  }
  return out;
}

function common(a: string, b: string): [number, number] {
  const most = Math.min(a.length, b.length);
  let head = 0;
  while (head < most && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [head, tail];
}

export function Diff({ diff }: { readonly diff: string }): JSX.Element {
  const [whole, show] = useState(false);
  const lines = parseDiff(diff);
  const shown = whole || lines.length <= FOLDED_LINES + 4 ? lines : lines.slice(0, FOLDED_LINES);
  const { added, removed } = counts(lines);
  return (
    <div class="diff">
      <div class="lines" dir="ltr" tabIndex={0} role="group" aria-label={`Diff: ${added} lines added, ${removed} removed`}>
        <div class="grid">
          {shown.map((line, at) => (
            <div key={at} class={`line ${line.kind}`}>
              <span class="number" aria-hidden="true">{line.number ?? ''}</span>
              <span class="sign">{line.kind === 'new' ? '+' : line.kind === 'gone' ? '−' : ' '}</span>
              <span class="text"><Text line={line} /></span>
            </div>
          ))}
        </div>
      </div>
      {shown.length < lines.length && (
        <button type="button" class="more" onClick={() => show(true)}>{lines.length - shown.length} more lines</button>
      )}
    </div>
  );
}

export function counts(lines: readonly DiffLine[]): { readonly added: number; readonly removed: number } {
  const of = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  return { added: of('new'), removed: of('gone') };
}

function Text({ line: { text, mark } }: { readonly line: DiffLine }): JSX.Element {
  if (!mark || mark[0] >= mark[1]) return <>{text}</>;
  return <>{text.slice(0, mark[0])}<mark>{text.slice(mark[0], mark[1])}</mark>{text.slice(mark[1])}</>;
}
