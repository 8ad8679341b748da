import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Link } from './stream';

/** A socket that does what the test says. */
class FakeSocket {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;
  sent: string[] = [];
  onopen?: () => void;
  onmessage?: (event: { data: string }) => void;
  onclose?: () => void;

  constructor(readonly url: URL) {
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(text);
  }

  close(): void {
    this.readyState = 3;
  }

  opens(): this {
    this.readyState = 1;
    this.onopen?.();
    return this;
  }

  says(...frames: unknown[]): this {
    for (const frame of frames) this.onmessage?.({ data: JSON.stringify(frame) });
    return this;
  }

  drops(): void {
    this.readyState = 3;
    this.onclose?.();
  }
}

const entry = (seq: number, live = false) => ({ type: 'entry', live, entry: { id: `u${seq}#0`, seq, role: 'user', kind: 'message', text: 'x', parsed: true } });
const hello = (total: number, oldest: number, more = {}) => ({
  type: 'hello', protocol: 5, pane: 'p', agent_kind: 'claude', session_id: 's', backlog_count: total - oldest + 1, total, has_more: oldest > 1, oldest_loaded_seq: oldest, has_older: oldest > 1, generation: 'g', ...more,
});
const complete = { type: 'backlog_complete', count: 0, has_more: false };

const opened: { close(): void }[] = [];
const answers: (() => Promise<Response>)[] = [];
const events = new EventTarget();
const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });

async function stream() {
  const { Stream } = await import('./stream');
  const links: Link[] = [];
  const made = new Stream('w1:p1', undefined, { changed: () => undefined, linked: (link) => void links.push(link) });
  opened.push(made);
  return { made, kinds: () => links.map(({ kind }) => kind), links };
}

const last = () => FakeSocket.all.at(-1) as FakeSocket;
const asked = () => Object.fromEntries(last().url.searchParams);

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  FakeSocket.all = [];
  answers.length = 0;
  page.visibilityState = 'visible';
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', { href: 'https://host.example/deep/?x=1#pane/w1%3Ap1' });
  vi.stubGlobal('document', page);
  vi.stubGlobal('addEventListener', events.addEventListener.bind(events));
  vi.stubGlobal('removeEventListener', events.removeEventListener.bind(events));
  vi.stubGlobal('fetch', () => (answers.shift() ?? (() => Promise.reject(new TypeError('no network'))))());
});

afterEach(() => {
  for (const stream of opened.splice(0)) stream.close();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe('a stream', () => {
  it('opens beside its page, and is live when the newest page is there', async () => {
    const { kinds } = await stream();
    expect(`${last().url.protocol}//${last().url.host}${last().url.pathname}`).toBe('wss://host.example/deep/agent-transcript');
    expect(asked()).toEqual({ pane: 'w1:p1', features: 'heartbeat,roster' });
    last().opens().says(hello(2, 1), entry(1), entry(2), complete);
    expect(kinds()).toEqual(['connecting', 'catching-up', 'live']);
  });

  it('that is lost is opened again where it was, later each time', async () => {
    const { made, kinds, links } = await stream();
    last().opens().says(hello(2, 1), entry(1), entry(2), complete);
    last().drops();
    expect(links.at(-1)).toEqual({ kind: 'offline', retryAt: Date.now() + 500 });
    vi.advanceTimersByTime(499);
    expect(FakeSocket.all.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(asked()).toMatchObject({ session: 's', generation: 'g', since_seq: '2', since_id: 'u2#0' });
    last().opens().says(hello(4, 3, { resumed: true }), entry(3), entry(4), complete);
    expect([kinds().at(-1), made.conversation.tail.map(({ seq }) => seq)]).toEqual(['live', [1, 2, 3, 4]]);
    last().drops();
    vi.advanceTimersByTime(500);
    last().opens();
    last().drops();
    expect(links.at(-1)).toEqual({ kind: 'offline', retryAt: Date.now() + 1_000 });
  });

  it('that misses two heartbeats is dead', async () => {
    const { kinds } = await stream();
    last().opens().says(hello(1, 1), entry(1), complete, { type: 'heartbeat', head_seq: 1, server_time_ms: 1 });
    vi.advanceTimersByTime(40_000);
    expect(kinds().at(-1)).toBe('live');
    vi.advanceTimersByTime(5_000);
    expect(kinds().at(-1)).toBe('offline');
    expect(FakeSocket.all[0]?.readyState).toBe(3);
  });

  it('that never beat is dead as well, and so is one that never opens', async () => {
    const { kinds } = await stream();
    last().opens().says(hello(1, 1), entry(1), complete);
    vi.advanceTimersByTime(45_000);
    expect(kinds().at(-1)).toBe('offline');
    vi.advanceTimersByTime(500);
    expect([kinds().at(-1), FakeSocket.all.length]).toEqual(['connecting', 2]);
    vi.advanceTimersByTime(45_000);
    expect([kinds().includes('offline'), FakeSocket.all[1]?.readyState]).toEqual([true, 3]);
  });

  it('of a phone that was locked before the first beat is opened again when it is looked at', async () => {
    await stream();
    last().opens().says(hello(1, 1), entry(1), complete);
    vi.setSystemTime(Date.now() + 3_600_000);
    page.dispatchEvent(new Event('visibilitychange'));
    expect([FakeSocket.all.length, asked()['since_seq']]).toEqual([2, '1']);
  });

  it('without a network is offline at once, unless the daemon is reached without one', async () => {
    const { kinds } = await stream();
    last().opens().says(hello(1, 1), entry(1), complete);
    answers.push(() => Promise.resolve(Response.json({})));
    events.dispatchEvent(new Event('offline'));
    await vi.advanceTimersByTimeAsync(0);
    expect(kinds().at(-1)).toBe('live');
    events.dispatchEvent(new Event('offline'));
    await vi.advanceTimersByTimeAsync(0);
    expect([kinds().at(-1), FakeSocket.all[0]?.readyState]).toEqual(['offline', 3]);
  });

  it('that is silent is dead although the clock was set back', async () => {
    const { kinds } = await stream();
    last().opens().says(hello(1, 1), entry(1), complete, { type: 'heartbeat', head_seq: 1, server_time_ms: 1 });
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(45_000);
    expect([kinds().includes('offline'), asked()['since_seq']]).toEqual([true, '1']);
  });

  it('of a phone that slept is opened again when it is looked at', async () => {
    await stream();
    last().opens().says(hello(1, 1), entry(1), complete, { type: 'heartbeat', head_seq: 1, server_time_ms: 1 });
    page.visibilityState = 'hidden';
    // A phone that sleeps runs no timers.
    vi.setSystemTime(Date.now() + 3_600_000);
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    expect([FakeSocket.all.length, asked()['since_seq']]).toEqual([2, '1']);
  });

  it('with a hole in it is opened again behind its last whole entry', async () => {
    const { made, kinds } = await stream();
    last().opens().says(hello(2, 1), entry(1), entry(2), complete, entry(4, true));
    expect([kinds().at(-1), made.conversation.newest]).toEqual(['offline', 2]);
    vi.advanceTimersByTime(500);
    expect(asked()['since_seq']).toBe('2');
  });

  it('that is refused says why, and is tried again', async () => {
    const { links } = await stream();
    answers.push(() => Promise.resolve(new Response('no such agent\n', { status: 404 })));
    last().drops();
    await vi.advanceTimersByTimeAsync(0);
    expect(links.at(-1)).toEqual({ kind: 'refused', status: 404, text: 'no such agent' });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(FakeSocket.all.length).toBe(2);
  });

  it('whose daemon is gone is offline, not refused', async () => {
    const { links } = await stream();
    last().drops();
    await vi.advanceTimersByTimeAsync(0);
    expect(links.at(-1)?.kind).toBe('offline');
  });

  it('asks for one page at a time, and for no more than there is, and for none while it is lost', async () => {
    const { made } = await stream();
    last().opens().says(hello(9, 8), entry(8), entry(9), complete);
    const { tail } = made.conversation;
    expect([made.loadBefore(tail), made.loadBefore(tail), made.loadAround(3)]).toEqual([true, false, false]);
    expect(last().sent).toEqual(['{"type":"load_older","before_seq":8,"limit":7}']);
    last().drops();
    expect(made.loadBefore(tail)).toBe(false);
  });

  it('that is closed stays closed', async () => {
    const { made } = await stream();
    last().opens().says(hello(1, 1), entry(1), complete);
    made.close();
    last().drops();
    await vi.advanceTimersByTimeAsync(120_000);
    events.dispatchEvent(new Event('online'));
    expect(FakeSocket.all.length).toBe(1);
  });
});
