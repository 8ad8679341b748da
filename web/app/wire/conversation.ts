/**
 * A conversation as it is put together from frames. No socket, no clock: frames in, a list out.
 *
 * Entries are always a run without holes: the one with `seq` s stands at index s − (seq of the first).
 */
import type { Entry, Frame, Hello, Subagent } from './frames';

/** What one frame changed: how a list that shows the conversation must move. */
export type Change = 'nothing' | 'appended' | 'prepended' | 'replaced' | 'told' | 'broken';

/** What a client names to go on where it was. */
export interface Cursor {
  readonly session: string;
  readonly generation: string;
  readonly seq: number;
  readonly id: string;
}

type Opening =
  /** Nothing was said yet, or the server began anew: what comes replaces what is held. */
  | { readonly kind: 'fresh'; readonly hello: Hello | undefined; readonly entries: Entry[] }
  /** What comes goes on behind what is held. */
  | { readonly kind: 'resumed' }
  | { readonly kind: 'open' };

export class Conversation {
  /** Oldest first, without holes. */
  entries: Entry[] = [];
  /** Entries that there are; at least those that are held. */
  total = 0;
  hasOlder = false;
  agentKind = '';
  session = '';
  generation = '';
  /** What the agent does, where the server says so. */
  status: string | undefined;
  /** The session that was followed before, if the pane moved on while we watched. */
  before: string | undefined;
  /** Whether an older page was asked for and has not come yet. */
  loadingOlder = false;
  /** Everything that was delegated; as the server last said. */
  roster: readonly Subagent[] = [];

  private opening: Opening = { kind: 'fresh', hello: undefined, entries: [] };
  private page: Entry[] = [];
  private results = new Map<string, Entry>();
  private calls = new Map<string, number>();

  /** Whether the newest page is there. */
  get isOpen(): boolean {
    return this.opening.kind === 'open';
  }

  get oldest(): number {
    return this.entries[0]?.seq ?? 0;
  }

  get newest(): number {
    return this.entries.at(-1)?.seq ?? 0;
  }

  /** Where to go on; `undefined` if there is nothing to go on from. */
  get cursor(): Cursor | undefined {
    const last = this.entries.at(-1);
    if (!last || !this.session || !this.generation) return undefined;
    return { session: this.session, generation: this.generation, seq: last.seq, id: last.id };
  }

  at(seq: number): Entry | undefined {
    const entry = this.entries[seq - this.oldest];
    return entry?.seq === seq ? entry : undefined;
  }

  /** The answer to a call; the last one, if there are several. */
  resultOf(callId: string): Entry | undefined {
    return callId === '' ? undefined : this.results.get(callId);
  }

  /** Whether the call that a result answers is held: then the result is shown there. */
  hasCall(callId: string): boolean {
    return callId !== '' && this.calls.has(callId);
  }

  /** Where an entry is shown: an answer stands with its call. */
  rowOf(seq: number): number {
    const answered = this.at(seq)?.result?.for_id;
    return (answered ? this.calls.get(answered) : undefined) ?? seq;
  }

  /** The child that a call started. */
  childOf(callId: string): Subagent | undefined {
    return callId === '' ? undefined : this.roster.find((row) => row.tool_use_id === callId);
  }

  /** A socket was opened: what comes is an opening. A page that was asked for on the last one will not come. */
  begin(): void {
    this.opening = { kind: 'fresh', hello: undefined, entries: [] };
    this.page = [];
    this.loadingOlder = false;
  }

  /** An older page was asked for. Returns the cursor to name, or `undefined` if there is nothing to ask for. */
  askOlder(): number | undefined {
    if (!this.isOpen || this.loadingOlder || !this.hasOlder || this.entries.length === 0) return undefined;
    this.loadingOlder = true;
    return this.oldest;
  }

  handle(frame: Frame): Change {
    switch (frame.type) {
      case 'hello':
        return this.hello(frame);
      case 'entry':
        return this.entry(frame.entry, frame.live);
      case 'backlog_complete':
        return this.complete();
      case 'page_complete':
        return this.older(frame.oldest_loaded_seq, frame.has_older);
      case 'session_changed':
        this.before = frame.from;
        this.begin();
        return 'told';
      case 'subagents':
        this.roster = frame.subagents;
        return 'told';
      case 'heartbeat': {
        const status = this.status;
        this.status = frame.agent_status;
        if (frame.head_seq > this.total) this.total = frame.head_seq;
        return status === this.status ? 'nothing' : 'told';
      }
      default:
        // A frame of a later server.
        return 'nothing';
    }
  }

  private hello(hello: Hello): Change {
    this.agentKind = hello.agent_kind;
    this.roster = hello.subagents ?? [];
    const goesOn = hello.resumed === true && hello.session_id === this.session && this.entries.length > 0;
    if (goesOn) {
      this.generation = hello.generation;
      this.total = hello.total;
      this.opening = { kind: 'resumed' };
    } else {
      this.opening = { kind: 'fresh', hello, entries: [] };
    }
    return 'told';
  }

  private entry(entry: Entry, live: boolean): Change {
    if (this.opening.kind === 'fresh') {
      const held = this.opening.entries;
      const last = held.at(-1);
      if (!last || entry.seq === last.seq + 1) held.push(entry);
      else if (entry.seq > last.seq) return 'broken';
      return 'nothing';
    }
    if (this.opening.kind === 'open' && !live && this.loadingOlder) {
      this.page.push(entry);
      return 'nothing';
    }
    if (entry.seq <= this.newest) return 'nothing';
    if (this.entries.length > 0 && entry.seq !== this.newest + 1) return 'broken';
    this.entries.push(entry);
    this.total = Math.max(this.total, entry.seq);
    this.index(entry);
    return 'appended';
  }

  private complete(): Change {
    const opening = this.opening;
    this.opening = { kind: 'open' };
    if (opening.kind !== 'fresh') return 'told';
    const { hello, entries } = opening;
    this.entries = entries;
    this.session = hello?.session_id ?? '';
    this.generation = hello?.generation ?? '';
    this.total = Math.max(hello?.total ?? 0, this.newest);
    this.hasOlder = hello?.has_older ?? false;
    this.page = [];
    this.results.clear();
    this.calls.clear();
    for (const entry of entries) this.index(entry);
    return 'replaced';
  }

  private older(oldestLoaded: number, hasOlder: boolean): Change {
    const page = this.page.filter((entry) => entry.seq < this.oldest);
    this.page = [];
    this.loadingOlder = false;
    this.hasOlder = hasOlder;
    const last = page.at(-1);
    if (oldestLoaded === 0 || !last) return 'told';
    const isRun = page.every((entry, at) => entry.seq === (page[0]?.seq ?? 0) + at) && last.seq + 1 === this.oldest;
    if (!isRun) return 'broken';
    this.entries = page.concat(this.entries);
    for (const entry of page) this.index(entry, true);
    return 'prepended';
  }

  /** A result of an older page does not take the place of a newer one. */
  private index(entry: Entry, isOlder = false): void {
    if (entry.tool) this.calls.set(entry.tool.id, entry.seq);
    const answered = entry.result?.for_id;
    if (answered !== undefined && !(isOlder && this.results.has(answered))) this.results.set(answered, entry);
  }
}
