import { describe, expect, it } from 'vitest';

import { agentsOf, merge, statusOf } from './panes';

describe('the listing', () => {
  const rows = [
    { pane: 'w1:p1', agent_kind: 'claude', status: 'idle', cwd: '/a', session_id: 's1' },
    { pane: 'w1:p2', agent_kind: 'claude', status: 'blocked', cwd: '/b' },
    { pane: 'claude:s1', agent_kind: 'claude', session_id: 's1', modified_ms: 5 },
    { pane: 'claude:s2', agent_kind: 'claude', session_id: 's2', modified_ms: 4 },
    { pane: 'claude:s3', agent_kind: 'claude', session_id: 's3', modified_ms: 9 },
  ];

  it('has who needs somebody first, and no session twice', () => {
    expect(merge(rows, []).map(({ pane }) => pane)).toEqual(['w1:p2', 'w1:p1', 'claude:s3', 'claude:s2']);
  });

  it('takes from the snapshot what it knows more about', () => {
    const agents = [
      { pane_id: 'w1:p1', agent: 'claude', agent_status: 'working', branch: 'main', last_activity_ts: 77, subagents: { total: 3, running: 2 }, terminal_title_stripped: 'Fix it', foreground_cwd: '/a/b' },
      { pane_id: 'w9:p9', agent: 'codex', agent_status: 'done', cwd: '/z' },
    ];
    const [blocked, done, working] = merge(rows, agents);
    expect([blocked?.pane, done?.pane, working?.pane]).toEqual(['w1:p2', 'w9:p9', 'w1:p1']);
    expect(working).toMatchObject({ status: 'working', branch: 'main', activeAt: 77, running: 2, title: 'Fix it', cwd: '/a/b', isHerdrs: true });
  });

  it('tells sessions from panes by their names, also where a snapshot lists them', () => {
    const agents = [{ pane_id: 'claude:s3', agent: 'claude', agent_status: 'unknown', last_activity_ts: 12 }];
    const found = merge([{ pane: 'claude:s3', agent_kind: 'claude', session_id: 's3' }], agents);
    expect(found.map(({ pane, isHerdrs, activeAt }) => [pane, isHerdrs, activeAt])).toEqual([['claude:s3', false, 12]]);
  });

  it('survives whatever a snapshot holds', () => {
    for (const body of [null, 7, {}, { result: null }, { result: { snapshot: { agents: 'none' } } }]) expect(agentsOf(body)).toEqual([]);
    expect(agentsOf({ result: { snapshot: { agents: [null, 3, { pane_id: 'x' }] } } })).toEqual([{ pane_id: 'x' }]);
    expect(merge([], [{ pane_id: 4 }, { pane_id: 'p', agent: null }])).toEqual([]);
  });

  it('knows the words of a status', () => {
    expect(['Working', ' blocked ', 'asleep', undefined, 4].map(statusOf)).toEqual(['working', 'blocked', 'unknown', 'unknown', 'unknown']);
  });
});
