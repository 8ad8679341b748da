/** Everybody who was sent to work, below whoever sent them. */
import type { JSX } from 'preact';

import { code as harmless, firstLine } from '../text';
import type { Subagent } from '../wire/frames';
import type { Place } from './place';
import { childState } from './tool';

export function Roster({ rows, place, onOpen }: { readonly rows: readonly Subagent[]; readonly place: Place; readonly onOpen: () => void }): JSX.Element {
  return (
    <ul class="roster">
      {tree(rows).map(({ row, depth }) => (
        <li key={row.agent_id} data-depth={Math.min(depth, 6)}>
          <a class={`child ${row.done ? 'ended' : 'running'}`} href={place.childHref(row.agent_id)} aria-current={row.agent_id === place.subagent ? 'page' : undefined} onClick={onOpen}>
            <span class="dot" aria-hidden="true" />
            <span class="child-text">
              <span class="child-name" dir="auto">{harmless(row.description || row.agent_type || row.agent_id)}</span>
              {row.last_text && <span class="child-said" dir="auto">{firstLine(row.last_text)}</span>}
              <span class="child-state">
                {row.agent_type && row.description && <span>{harmless(row.agent_type)}</span>}
                <span>{childState(row)}</span>
                {row.entries !== undefined && <span>{row.entries} entries</span>}
                {row.tokens !== undefined && row.tokens > 0 && <span>{compact.format(row.tokens)} tokens</span>}
              </span>
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const compact = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** Each row behind its parent. A parent that is not there, or one that is its own, makes a row stand at the top. */
export function tree(rows: readonly Subagent[]): { readonly row: Subagent; readonly depth: number }[] {
  const known = new Set(rows.map((row) => row.agent_id));
  const children = new Map<string, Subagent[]>();
  for (const row of rows) {
    const parent = row.parent_agent_id !== undefined && known.has(row.parent_agent_id) ? row.parent_agent_id : '';
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const out: { row: Subagent; depth: number }[] = [];
  const put = new Set<string>();
  const visit = (parent: string, depth: number) => {
    for (const row of children.get(parent) ?? []) {
      if (put.has(row.agent_id)) continue;
      put.add(row.agent_id);
      out.push({ row, depth });
      visit(row.agent_id, depth + 1);
    }
  };
  visit('', 0);
  for (const row of rows) if (!put.has(row.agent_id)) out.push({ row, depth: 0 });
  return out;
}
