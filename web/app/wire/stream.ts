/**
 * The socket of one conversation: opens it, opens it again whenever it is lost, and goes on where it was.
 *
 *   connecting ──▶ catching up ──▶ live
 *       ▲                           │ lost, silent, or the phone slept
 *       └────── offline ◀───────────┘        refused: the daemon said why not
 */
import { Refused, get, said, Unreachable } from './api';
import { backoff } from './backoff';
import { socketAddress } from './address';
import { Conversation, type Change, type Request, type Run } from './conversation';
import { device } from './device';
import type { Frame } from './frames';

export type Link =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'catching-up' }
  | { readonly kind: 'live' }
  | { readonly kind: 'offline'; readonly retryAt: number }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string };

/**
 * The server beats every 15 s; a socket that misses two beats is dead, whatever the system believes. So is one that never spoke: a
 * network can be lost before the first beat, or before a socket is open.
 */
const SILENT_MS = 40_000;
/** A conversation that was refused may begin yet. */
const REFUSED_RETRY_MS = 10_000;
const PAGE = 150;
const LARGE_PAGE = 500;

/** A clock that was set back must not keep a dead socket alive. It has to be this clock: others stand still while a phone sleeps. */
const passedSince = (then: number): number => Math.abs(Date.now() - then);

export interface Watcher {
  changed(change: Change): void;
  linked(link: Link): void;
}

export class Stream {
  readonly conversation = new Conversation();
  link: Link = { kind: 'connecting' };

  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly pulse: ReturnType<typeof setInterval>;
  private failures = 0;
  private heardAt = 0;
  private closed = false;

  constructor(
    readonly pane: string,
    readonly subagent: string | undefined,
    private readonly watcher: Watcher,
  ) {
    this.pulse = setInterval(this.check, 5_000);
    addEventListener('online', this.wake);
    addEventListener('offline', this.doubt);
    addEventListener('pageshow', this.wake);
    document.addEventListener('visibilitychange', this.wake);
    this.connect();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    clearInterval(this.pulse);
    removeEventListener('online', this.wake);
    removeEventListener('offline', this.doubt);
    removeEventListener('pageshow', this.wake);
    document.removeEventListener('visibilitychange', this.wake);
    this.drop();
  }

  /** Asks for the page before a run. As all that loads: returns whether anything was asked for. */
  loadBefore(run: Run, large = false): boolean {
    return this.load((limit) => this.conversation.askBefore(run, limit), large);
  }

  /** Asks for the page behind a run. */
  loadBehind(run: Run): boolean {
    return this.load((limit) => this.conversation.askBehind(run, limit));
  }

  /** Asks for the page around an entry. */
  loadAround(seq: number): boolean {
    return this.load((limit) => this.conversation.askAround(seq, limit));
  }

  /** Tries again at once. */
  readonly retry = (): void => {
    if (this.closed || this.link.kind === 'live') return;
    this.failures = 0;
    this.drop();
    this.connect();
  };

  private load(ask: (limit: number) => Request | undefined, large = false): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    const request = ask(large ? LARGE_PAGE : PAGE);
    if (!request) return false;
    this.socket.send(JSON.stringify({ type: 'load_older', before_seq: request.before, limit: request.limit }));
    return true;
  }

  private connect(): void {
    clearTimeout(this.timer);
    this.say({ kind: 'connecting' });
    const cursor = this.conversation.cursor;
    const url = socketAddress('agent-transcript', {
      pane: this.pane,
      token: device.value?.bearer,
      subagent: this.subagent,
      features: 'heartbeat,roster',
      ...(cursor && { session: cursor.session, generation: cursor.generation, since_seq: cursor.seq, since_id: cursor.id }),
    });
    const socket = new WebSocket(url);
    this.socket = socket;
    this.heardAt = Date.now();
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.conversation.begin();
      this.say({ kind: 'catching-up' });
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === 'string' && socket === this.socket) this.take(data);
    };
    socket.onclose = () => {
      if (socket !== this.socket || this.closed) return;
      this.socket = undefined;
      if (opened) this.lost();
      else void this.explain();
    };
  }

  private take(text: string): void {
    this.heardAt = Date.now();
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      return;
    }
    const change = this.conversation.handle(frame);
    if (change === 'broken') {
      // Something is missing in between: ask for it by the last entry that is whole.
      this.drop();
      this.lost();
      return;
    }
    if (frame.type === 'backlog_complete') {
      this.failures = 0;
      this.say({ kind: 'live' });
    } else if (frame.type === 'session_changed') {
      this.say({ kind: 'catching-up' });
    }
    if (change !== 'nothing') this.watcher.changed(change);
  }

  private lost(): void {
    this.conversation.begin();
    this.again(backoff(this.failures++));
  }

  private again(wait: number): void {
    this.say({ kind: 'offline', retryAt: Date.now() + wait });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), wait);
  }

  /** A socket that was not opened does not say why; a request does. */
  private async explain(): Promise<void> {
    try {
      await get('agent-transcript', { pane: this.pane, subagent: this.subagent, probe: 1 });
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Refused && error.status < 502) {
        this.say({ kind: 'refused', status: error.status, text: said(error) });
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.connect(), REFUSED_RETRY_MS);
        return;
      }
    }
    if (!this.closed) this.lost();
  }

  private readonly check = (): void => {
    if (this.socket && passedSince(this.heardAt) > SILENT_MS) {
      this.drop();
      this.lost();
    }
  };

  /** The page is seen again, or there is a network again: a socket that slept is not trusted. */
  private readonly wake = (): void => {
    if (document.visibilityState !== 'visible' || this.closed) return;
    const slept = this.socket !== undefined && passedSince(this.heardAt) > SILENT_MS / 2;
    if (this.link.kind === 'offline' || slept) {
      this.failures = 0;
      this.drop();
      this.connect();
    }
  };

  /** The system has no network. A daemon on this machine is reached all the same, so a request tells. */
  private readonly doubt = async (): Promise<void> => {
    const { socket } = this;
    try {
      await get('info');
    } catch (error) {
      if (!(error instanceof Unreachable) || this.closed || !socket || socket !== this.socket) return;
      this.drop();
      this.lost();
    }
  };

  private drop(): void {
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
  }

  private say(link: Link): void {
    this.link = link;
    this.watcher.linked(link);
  }
}
