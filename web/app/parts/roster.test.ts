import { expect, it } from 'vitest';

import type { Subagent } from '../wire/frames';
import { tree } from './roster';

const row = (agent_id: string, parent_agent_id?: string): Subagent => ({ agent_id, tool_use_id: '', agent_type: '', description: '', spawn_depth: 1, done: false, ...(parent_agent_id !== undefined && { parent_agent_id }) });

it('each child stands behind whoever sent it', () => {
  const rows = [row('a'), row('b'), row('a1', 'a'), row('a2', 'a'), row('a11', 'a1'), row('lost', 'nobody')];
  expect(tree(rows).map(({ row: { agent_id }, depth }) => [agent_id, depth])).toEqual([['a', 0], ['a1', 1], ['a11', 2], ['a2', 1], ['b', 0], ['lost', 0]]);
});

it('a circle shows each of its members once', () => {
  expect(tree([row('a', 'b'), row('b', 'a'), row('c', 'c')]).map(({ row: { agent_id } }) => agent_id)).toEqual(['a', 'b', 'c']);
});
