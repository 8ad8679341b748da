import { describe, expect, it } from 'vitest';

import { Conversation } from './conversation';
import type { Entry, Frame, Hello } from './frames';

const message = (seq: number, more: Partial<Entry> = {}): Entry => ({ id: `u${seq}#0`, seq, role: 'assistant', kind: 'message', text: `entry ${seq}`, parsed: true, ...more });
const entry = (seq: number, live: boolean, more: Partial<Entry> = {}): Frame => ({ type: 'entry', live, entry: message(seq, more) });
const hello = (total: number, count: number, more: Partial<Hello> = {}): Frame => ({
  type: 'hello', protocol: 5, pane: 'p', agent_kind: 'claude', session_id: 's1', backlog_count: count, total,
  has_more: total > count, oldest_loaded_seq: count === 0 ? 0 : total - count + 1, has_older: total > count, generation: 'g1', ...more,
});
const complete: Frame = { type: 'backlog_complete', count: 0, has_more: false };
const page = (before: number, oldest: number, hasOlder: boolean): Frame => ({ type: 'page_complete', requested_before_seq: before, oldest_loaded_seq: oldest, has_older: hasOlder });
const run = (from: number, to: number, live = false): Frame[] => Array.from({ length: to - from + 1 }, (_, at) => entry(from + at, live));

function opened(total: number, count: number): Conversation {
  const conversation = new Conversation();
  feed(conversation, hello(total, count), ...run(total - count + 1, total), complete);
  return conversation;
}

const feed = (conversation: Conversation, ...frames: Frame[]) => frames.map((frame) => conversation.handle(frame));
const seqs = (conversation: Conversation) => conversation.runs.flat().map(({ seq }) => seq);

describe('the opening', () => {
  it('shows nothing before the newest page is whole, and then all of it at once', () => {
    const conversation = new Conversation();
    expect(feed(conversation, hello(9, 3), ...run(7, 9))).toEqual(['told', 'nothing', 'nothing', 'nothing']);
    expect([conversation.isOpen, seqs(conversation)]).toEqual([false, []]);
    expect(conversation.handle(complete)).toBe('replaced');
    expect([conversation.isOpen, seqs(conversation), conversation.total, conversation.hasOlder]).toEqual([true, [7, 8, 9], 9, true]);
  });

  it('may be empty', () => {
    const conversation = opened(0, 0);
    expect([conversation.isOpen, conversation.oldest, conversation.newest, conversation.cursor]).toEqual([true, 0, 0, undefined]);
    expect([conversation.handle(entry(1, true)), seqs(conversation)]).toEqual(['appended', [1]]);
  });
});

describe('live entries', () => {
  it('are appended, once each', () => {
    const conversation = opened(3, 3);
    expect(feed(conversation, entry(4, true), entry(4, true), entry(3, true), entry(5, true))).toEqual(['appended', 'nothing', 'nothing', 'appended']);
    expect([seqs(conversation), conversation.total]).toEqual([[1, 2, 3, 4, 5], 5]);
  });

  it('that leave a hole are not taken: what lies between has to be asked for', () => {
    const conversation = opened(3, 3);
    expect([conversation.handle(entry(5, true)), seqs(conversation)]).toEqual(['broken', [1, 2, 3]]);
  });
});

describe('older pages', () => {
  it('are put before the others when they are whole, though live entries come between', () => {
    const conversation = opened(9, 3);
    expect(conversation.askBefore(conversation.tail, 3)).toEqual({ before: 7, limit: 3 });
    expect(conversation.askBefore(conversation.tail, 3)).toBeUndefined();
    expect(feed(conversation, entry(4, false), entry(10, true), entry(5, false), entry(6, false))).toEqual(['nothing', 'appended', 'nothing', 'nothing']);
    expect(seqs(conversation)).toEqual([7, 8, 9, 10]);
    expect(conversation.handle(page(7, 4, true))).toBe('laid');
    expect([seqs(conversation), conversation.askBefore(conversation.tail, 3)]).toEqual([[4, 5, 6, 7, 8, 9, 10], { before: 4, limit: 3 }]);
  });

  it('of no entries keep the cursor, and may be asked for again', () => {
    const conversation = opened(9, 3);
    conversation.askBefore(conversation.tail, 3);
    expect(conversation.handle(page(7, 0, true))).toBe('told');
    expect([conversation.askBefore(conversation.tail, 3)?.before, seqs(conversation)]).toEqual([7, [7, 8, 9]]);
  });

  it('end at the first entry', () => {
    const conversation = opened(4, 2);
    conversation.askBefore(conversation.tail, 3);
    feed(conversation, ...run(1, 2), page(3, 1, false));
    expect([seqs(conversation), conversation.askBefore(conversation.tail, 3)]).toEqual([[1, 2, 3, 4], undefined]);
  });

  it('that do not join are not put together', () => {
    const conversation = opened(9, 3);
    conversation.askBefore(conversation.tail, 3);
    expect(feed(conversation, ...run(2, 4), page(7, 2, true)).at(-1)).toBe('broken');
    expect(seqs(conversation)).toEqual([7, 8, 9]);
  });
});

/** The first and the last of each run. */
const runs = (conversation: Conversation) => conversation.runs.map((each) => [each[0]?.seq, each.at(-1)?.seq]);

describe('an entry far from the others', () => {
  function sought(): Conversation {
    const conversation = opened(100, 3);
    expect(conversation.askAround(20, 4)).toEqual({ before: 22, limit: 4 });
    expect(feed(conversation, ...run(18, 21), page(22, 18, true)).at(-1)).toBe('laid');
    return conversation;
  }

  it('comes in one page, in a run of its own', () => {
    const conversation = sought();
    expect(runs(conversation)).toEqual([[18, 21], [98, 100]]);
    expect([conversation.held, conversation.oldest, conversation.newest, conversation.cursor?.seq]).toEqual([7, 18, 100, 100]);
    expect([17, 18, 21, 22, 97, 98].map((seq) => conversation.at(seq)?.seq)).toEqual([undefined, 18, 21, undefined, undefined, 98]);
    expect(conversation.runs.map((each) => conversation.goesBack(each))).toEqual([true, true]);
  });

  it('has its run grow at either end, and in the midst of what is missing, until all is one', () => {
    const conversation = sought();
    expect(conversation.askBehind(conversation.runs[0]!, 3)).toEqual({ before: 25, limit: 3 });
    feed(conversation, ...run(22, 24), entry(101, true), page(25, 22, true));
    expect(runs(conversation)).toEqual([[18, 24], [98, 101]]);
    conversation.askBefore(conversation.tail, 60);
    feed(conversation, ...run(38, 97), page(98, 38, true));
    expect(runs(conversation)).toEqual([[18, 24], [38, 101]]);
    expect(conversation.askAround(31, 2)).toEqual({ before: 32, limit: 2 });
    feed(conversation, ...run(30, 31), page(32, 30, true));
    expect(runs(conversation)).toEqual([[18, 24], [30, 31], [38, 101]]);
    expect(conversation.askBehind(conversation.runs[0]!, 500)).toEqual({ before: 30, limit: 5 });
    feed(conversation, ...run(25, 29), page(30, 25, true));
    expect(conversation.askBefore(conversation.tail, 500)).toEqual({ before: 38, limit: 6 });
    feed(conversation, ...run(32, 37), page(38, 32, true));
    expect(seqs(conversation)).toEqual(Array.from({ length: 84 }, (_, at) => 18 + at));
    expect([runs(conversation), conversation.askBehind(conversation.tail, 5), conversation.askBefore(conversation.tail, 5)]).toEqual([[[18, 101]], undefined, { before: 18, limit: 5 }]);
  });

  it('near the first or the last entry asks for no more than there is', () => {
    const conversation = opened(100, 3);
    expect(conversation.askAround(1, 150)).toEqual({ before: 76, limit: 75 });
    feed(conversation, ...run(1, 75), page(76, 1, false));
    expect([conversation.hasOlder, runs(conversation), conversation.runs.map((each) => conversation.goesBack(each))]).toEqual([false, [[1, 75], [98, 100]], [false, true]]);
    expect(conversation.askAround(97, 150)).toEqual({ before: 98, limit: 22 });
    feed(conversation, ...run(76, 97), page(98, 76, true));
    expect([conversation.hasOlder, runs(conversation)]).toEqual([false, [[1, 100]]]);
    expect([50, 101, 0].map((seq) => conversation.askAround(seq, 150))).toEqual([undefined, undefined, undefined]);
  });

  it('keeps its run while the socket is lost; a page that could not be read changes nothing', () => {
    const conversation = sought();
    conversation.askBehind(conversation.runs[0]!, 3);
    conversation.handle(entry(22, false));
    conversation.begin();
    feed(conversation, hello(101, 1, { resumed: true }), entry(101, false), complete);
    expect(runs(conversation)).toEqual([[18, 21], [98, 101]]);
    conversation.askBehind(conversation.runs[0]!, 3);
    expect(conversation.handle(page(25, 0, true))).toBe('told');
    expect([runs(conversation), conversation.asked]).toEqual([[[18, 21], [98, 101]], undefined]);
  });

  it('with an answer to a call that comes later: the last answer counts', () => {
    const conversation = sought();
    const answer = (seq: number): Frame => entry(seq, false, { kind: 'tool_result', role: 'user', result: { for_id: 't1', ok: true } });
    conversation.askBefore(conversation.tail, 1);
    feed(conversation, answer(97), page(98, 97, true));
    conversation.askBehind(conversation.runs[0]!, 2);
    feed(conversation, entry(22, false, { kind: 'tool_call', tool: { id: 't1', name: 'Bash' } }), answer(23), page(24, 22, true));
    expect([conversation.resultOf('t1')?.seq, conversation.rowOf(97)]).toEqual([97, 22]);
  });
});

describe('after a lost socket', () => {
  it('the cursor names the last entry, and what was missed is appended once', () => {
    const conversation = opened(9, 3);
    expect(conversation.cursor).toEqual({ session: 's1', generation: 'g1', seq: 9, id: 'u9#0' });
    conversation.begin();
    expect(feed(conversation, hello(11, 2, { resumed: true }), entry(9, false), ...run(10, 11), complete)).toEqual(['told', 'nothing', 'appended', 'appended', 'told']);
    expect([seqs(conversation), conversation.hasOlder, conversation.isOpen]).toEqual([[7, 8, 9, 10, 11], true, true]);
  });

  it('what is held stays until a new opening is whole', () => {
    const conversation = opened(9, 3);
    conversation.begin();
    feed(conversation, hello(400, 2, { resumed: false, generation: 'g2' }), entry(399, false));
    expect([seqs(conversation), conversation.cursor?.seq]).toEqual([[7, 8, 9], 9]);
    feed(conversation, entry(400, false), complete);
    expect([seqs(conversation), conversation.generation]).toEqual([[399, 400], 'g2']);
  });

  it('a page that was asked for will not come, and may be asked for again', () => {
    const conversation = opened(9, 3);
    conversation.askBefore(conversation.tail, 3);
    conversation.handle(entry(6, false));
    conversation.begin();
    feed(conversation, hello(9, 0, { resumed: true, oldest_loaded_seq: 10 }), complete);
    expect(conversation.askBefore(conversation.tail, 3)?.before).toBe(7);
    feed(conversation, ...run(4, 6), page(7, 4, true));
    expect(seqs(conversation)).toEqual([4, 5, 6, 7, 8, 9]);
  });

  it('a server that resumes another session than the one that is held is a new opening', () => {
    const conversation = opened(3, 3);
    conversation.begin();
    feed(conversation, hello(1, 1, { resumed: true, session_id: 's2' }), entry(1, false, { text: 'other' }), complete);
    expect(conversation.tail.map(({ text }) => text)).toEqual(['other']);
  });
});

describe('another session', () => {
  it('voids everything, results included', () => {
    const conversation = new Conversation();
    const call = message(1, { kind: 'tool_call', tool: { id: 't1', name: 'Bash' } });
    const result = message(2, { kind: 'tool_result', role: 'user', result: { for_id: 't1', ok: true } });
    feed(conversation, hello(2, 2), { type: 'entry', live: false, entry: call }, { type: 'entry', live: false, entry: result }, complete);
    expect([conversation.hasCall('t1'), conversation.resultOf('t1')?.seq]).toEqual([true, 2]);
    feed(conversation, { type: 'session_changed', pane: 'p', from: 's1', to: 's2' }, hello(1, 1, { session_id: 's2', generation: 'g9' }), entry(1, false), complete);
    expect([seqs(conversation), conversation.hasCall('t1'), conversation.resultOf('t1'), conversation.session, conversation.moved]).toEqual([[1], false, undefined, 's2', { from: 's1', to: 's2' }]);
  });
});

describe('calls and results', () => {
  it('find each other across pages, and the newest result of a call stays', () => {
    const conversation = new Conversation();
    feed(conversation, hello(4, 2), entry(3, false, { kind: 'tool_result', result: { for_id: 't', ok: true } }), entry(4, false), complete);
    expect(conversation.hasCall('t')).toBe(false);
    conversation.askBefore(conversation.tail, 3);
    feed(conversation, entry(1, false, { kind: 'tool_call', tool: { id: 't', name: 'Bash' } }), entry(2, false, { kind: 'tool_result', result: { for_id: 't', ok: false } }), page(3, 1, false));
    expect([conversation.hasCall('t'), conversation.resultOf('t')?.seq]).toEqual([true, 3]);
    expect([1, 2, 3, 9].map((seq) => conversation.rowOf(seq))).toEqual([1, 1, 1, 9]);
  });

  it('without an id belong to nobody', () => {
    const conversation = new Conversation();
    feed(conversation, hello(2, 2), entry(1, false, { kind: 'tool_call', tool: { id: '', name: 'Bash' } }), entry(2, false, { kind: 'tool_result', result: { for_id: '', ok: true } }), complete);
    expect([conversation.hasCall(''), conversation.resultOf(''), conversation.childOf('')]).toEqual([false, undefined, undefined]);
  });
});

it('a frame that is not known changes nothing', () => {
  expect(opened(1, 1).handle({ type: 'weather' } as unknown as Frame)).toBe('nothing');
});

it('a heartbeat tells the status and the head', () => {
  const conversation = opened(1, 1);
  expect(conversation.handle({ type: 'heartbeat', head_seq: 5, server_time_ms: 1, agent_status: 'working' })).toBe('told');
  expect([conversation.status, conversation.total]).toEqual(['working', 5]);
  expect(conversation.handle({ type: 'heartbeat', head_seq: 5, server_time_ms: 2, agent_status: 'working' })).toBe('nothing');
});
