/**
 * A conversation as it is put together from frames. No socket, no clock: frames in, a list out.
 *
 * What is held are runs of entries without holes: in each, the one with `seq` s stands at index s − (seq of the first). The newest
 * entry is in the last of them, and an entry that was asked for by its number can be in one of its own.
 */
import type { Entry, Frame, Hello, Subagent } from './frames';

/** What one frame changed: how a list that shows the conversation must move. */
export type Change = 'nothing' | 'appended' | 'laid' | 'replaced' | 'told' | 'broken';

/** Entries one after the other. */
export type Run = readonly Entry[];

/** Entries that are there and not held. */
interface Hole {
  readonly first: number;
  readonly last: number;
}

export interface Moved {
  readonly from: string;
  readonly to: string;
}

/** What to ask a server for: so many entries before this one. */
export interface Request {
  readonly before: number;
  readonly limit: number;
}

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
  /** Oldest first, with holes between them, and none empty. */
  runs: Entry[][] = [];
  /** Entries that there are; at least those that are held. */
  total = 0;
  hasOlder = false;
  agentKind = '';
  session = '';
  generation = '';
  /** What the agent does, where the server says so. */
  status: string | undefined;
  /** Where the pane moved on while we watched: from which session to which. */
  moved: Moved | undefined;
  /** The page that was asked for and has not come yet. */
  asked: Request | undefined;
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
    return this.runs[0]?.[0]?.seq ?? 0;
  }

  get newest(): number {
    return this.last?.seq ?? 0;
  }

  get last(): Entry | undefined {
    return this.tail.at(-1);
  }

  /** The run that grows as the agent writes. */
  get tail(): Run {
    return this.runs.at(-1) ?? NONE;
  }

  /** How many entries are held. */
  get held(): number {
    return this.runs.reduce((sum, run) => sum + run.length, 0);
  }

  /** Whether there are entries before this run. */
  goesBack(run: Run): boolean {
    return run[0]?.seq === this.oldest ? this.hasOlder : run.length > 0;
  }

  /** Where to go on; `undefined` if there is nothing to go on from. */
  get cursor(): Cursor | undefined {
    const { last } = this;
    if (!last || !this.session || !this.generation) return undefined;
    return { session: this.session, generation: this.generation, seq: last.seq, id: last.id };
  }

  at(seq: number): Entry | undefined {
    const run = this.runOf(seq);
    return run?.[seq - first(run)];
  }

  /** The run that an entry is in. */
  runOf(seq: number): Run | undefined {
    return this.runs.find((run) => seq >= first(run) && seq < first(run) + run.length);
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
    this.asked = undefined;
  }

  /** Asks for the page before a run. As all that asks: what to ask for, or `undefined` if there is nothing, or something was asked for. */
  askBefore(run: Run, limit: number): Request | undefined {
    const hole = this.holeAt(first(run) - 1);
    return hole && this.ask(hole.last + 1, Math.min(limit, hole.last - hole.first + 1));
  }

  /** Asks for the page behind a run. */
  askBehind(run: Run, limit: number): Request | undefined {
    const hole = this.holeAt(first(run) + run.length);
    if (!hole) return undefined;
    const some = Math.min(limit, hole.last - hole.first + 1);
    return this.ask(hole.first + some, some);
  }

  /** Asks for the page in the midst of which an entry stands. */
  askAround(seq: number, limit: number): Request | undefined {
    const hole = this.holeAt(seq);
    if (!hole) return undefined;
    const before = Math.min(seq + Math.ceil(limit / 2), hole.last + 1);
    return this.ask(before, Math.min(limit, before - hole.first));
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
        return this.lay(frame.requested_before_seq, frame.oldest_loaded_seq, frame.has_older);
      case 'session_changed':
        this.moved = { from: frame.from, to: frame.to };
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
    const goesOn = hello.resumed === true && hello.session_id === this.session && this.runs.length > 0;
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
    if (this.opening.kind === 'open' && !live && this.asked) {
      this.page.push(entry);
      return 'nothing';
    }
    if (entry.seq <= this.newest) return 'nothing';
    const run = this.runs.at(-1);
    if (!run) this.runs = [[entry]];
    else if (entry.seq === this.newest + 1) run.push(entry);
    else return 'broken';
    this.total = Math.max(this.total, entry.seq);
    this.index(entry);
    return 'appended';
  }

  private complete(): Change {
    const opening = this.opening;
    this.opening = { kind: 'open' };
    if (opening.kind !== 'fresh') return 'told';
    const { hello, entries } = opening;
    this.runs = entries.length > 0 ? [entries] : [];
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

  private ask(before: number, limit: number): Request | undefined {
    if (!this.isOpen || this.asked || this.runs.length === 0) return undefined;
    this.asked = { before, limit };
    return this.asked;
  }

  /** The hole that an entry is in: between two runs, or before the first. */
  private holeAt(seq: number): Hole | undefined {
    const behind = this.runs.find((run) => first(run) + run.length > seq);
    if (seq < 1 || !behind || first(behind) <= seq) return undefined;
    const before = this.runs[this.runs.indexOf(behind) - 1];
    if (!before && !this.hasOlder) return undefined;
    return { first: before ? first(before) + before.length : 1, last: first(behind) - 1 };
  }

  /** A page has come: it is laid into the hole that it was asked for, and joins the runs that it touches. */
  private lay(before: number, oldestLoaded: number, hasOlder: boolean): Change {
    const hole = this.holeAt(before - 1);
    const page = hole ? this.page.filter(({ seq }) => seq >= hole.first && seq <= hole.last) : [];
    this.page = [];
    this.asked = undefined;
    const isOldest = hole !== undefined && hole.last < this.oldest;
    if (oldestLoaded === 0 || !hole || page.length === 0) {
      if (isOldest && before === this.oldest) this.hasOlder = hasOlder;
      return 'told';
    }
    if (page.at(-1)?.seq !== before - 1 || page.some(({ seq }, at) => seq !== first(page) + at)) return 'broken';
    const older = this.runs.filter((run) => first(run) < hole.first);
    const newer = this.runs.filter((run) => first(run) > hole.last);
    const joined = [
      ...(first(page) === hole.first ? older.splice(-1) : []),
      page,
      ...(before - 1 === hole.last ? newer.splice(0, 1) : []),
    ];
    this.runs = [...older, joined.flat(), ...newer];
    if (isOldest) this.hasOlder = hasOlder;
    for (const entry of page) this.index(entry);
    return 'laid';
  }

  /** Of several answers to one call the last counts, whichever came first. */
  private index(entry: Entry): void {
    if (entry.tool) this.calls.set(entry.tool.id, entry.seq);
    const answered = entry.result?.for_id;
    if (answered !== undefined && (this.results.get(answered)?.seq ?? 0) < entry.seq) this.results.set(answered, entry);
  }
}

const NONE: Run = [];

const first = (run: Run): number => run[0]?.seq ?? 0;
