/** What there is to follow, from `GET /panes`, and from `GET /snapshot` and `WS /events` where the daemon has them. */
import { signal } from '@preact/signals';

import { isStandalone } from '../route';
import { get, Refused, said } from './api';
import { socketAddress } from './address';
import { backoff } from './backoff';
import { device } from './device';
import type { Card, Panes, PaneRow } from './frames';

export interface Pane {
  readonly pane: string;
  readonly kind: string;
  readonly status: Status;
  readonly title: string;
  readonly cwd: string | undefined;
  readonly branch: string | undefined;
  readonly activeAt: number | undefined;
  readonly running: number;
  /** herdr runs it: it can be answered. */
  readonly isHerdrs: boolean;
  readonly session: string | undefined;
  readonly rank: number;
}

export const STATUSES = ['blocked', 'done', 'working', 'idle', 'unknown'] as const;
export type Status = (typeof STATUSES)[number];

/** The members of a row of `/snapshot` that are of use here. herdr's own words: none of them is sure to be there. */
interface Agent {
  readonly pane_id?: unknown;
  readonly agent?: unknown;
  readonly agent_status?: unknown;
  readonly terminal_title_stripped?: unknown;
  readonly name?: unknown;
  readonly cwd?: unknown;
  readonly foreground_cwd?: unknown;
  readonly branch?: unknown;
  readonly last_activity_ts?: unknown;
  readonly recency_rank?: unknown;
  readonly agent_session?: unknown;
  readonly subagents?: unknown;
}

export interface Listing {
  readonly panes: readonly Pane[];
  readonly notes: readonly string[];
  readonly at: number;
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

export function statusOf(word: unknown): Status {
  const said = text(word)?.trim().toLowerCase();
  return STATUSES.find((known) => known === said) ?? 'unknown';
}

/** Puts both answers together; attention first, then what was active last. */
export function merge(rows: readonly PaneRow[], agents: readonly Agent[]): Pane[] {
  const byPane = new Map(agents.flatMap((agent) => (text(agent.pane_id) ? [[agent.pane_id as string, agent] as const] : [])));
  const panes = rows.map((row) => one(row, byPane.get(row.pane)));
  const listed = new Set(rows.map((row) => row.pane));
  for (const [pane, agent] of byPane) {
    if (!listed.has(pane) && text(agent.agent)) panes.push(one({ pane, agent_kind: agent.agent as string, status: 'unknown' }, agent));
  }
  // A session that a pane runs is there already.
  const run = new Set(panes.flatMap((pane) => (pane.isHerdrs && pane.session !== undefined ? [pane.session] : [])));
  const shown = panes.filter((pane) => pane.isHerdrs || pane.session === undefined || !run.has(pane.session));
  return shown.sort((a, b) => order(a) - order(b) || a.rank - b.rank || (b.activeAt ?? 0) - (a.activeAt ?? 0));
}

const order = (pane: Pane): number => (pane.isHerdrs ? STATUSES.indexOf(pane.status) : STATUSES.length);

function one(row: PaneRow, agent: Agent | undefined): Pane {
  const subagents = agent?.subagents as { readonly running?: unknown } | undefined;
  const cwd = text(agent?.foreground_cwd) ?? text(agent?.cwd) ?? row.cwd;
  return {
    pane: row.pane,
    kind: row.agent_kind,
    status: statusOf(agent?.agent_status ?? row.status),
    title: text(agent?.terminal_title_stripped) ?? row.title ?? text(agent?.name) ?? '',
    cwd,
    branch: text(agent?.branch),
    activeAt: number(agent?.last_activity_ts) ?? row.modified_ms,
    running: number(subagents?.running) ?? 0,
    // Without herdr a snapshot lists sessions, too.
    isHerdrs: !isStandalone(row.pane),
    session: row.session_id ?? text((agent?.agent_session as { readonly value?: unknown } | undefined)?.value),
    rank: number(agent?.recency_rank) ?? 0,
  };
}

export const listing = signal<Listing | undefined>(undefined);
/** Why the listing is not as new as it should be. */
export const trouble = signal<string | undefined>(undefined);
/** What agents do that need a look, by pane. */
export const cards = signal<ReadonlyMap<string, Card>>(new Map());

/** Panes whose card is asked for, at most. */
const MOST_CARDS = 12;

let hasSnapshot = true;
let asking: Promise<void> | undefined;
let again = false;

/** Asks anew. Calls that come meanwhile are one more question. */
export function refresh(): Promise<void> {
  if (asking) {
    again = true;
    return asking;
  }
  asking = ask().finally(() => {
    asking = undefined;
    if (again) {
      again = false;
      void refresh();
    }
  });
  return asking;
}

async function ask(): Promise<void> {
  try {
    const [rows, agents] = await Promise.all([get<Panes>('panes'), snapshot()]);
    const panes = merge(rows.panes, agents);
    listing.value = { panes, notes: rows.notes, at: Date.now() };
    trouble.value = undefined;
    await look(panes);
  } catch (error) {
    trouble.value = said(error);
  }
}

async function snapshot(): Promise<readonly Agent[]> {
  if (!hasSnapshot) return [];
  try {
    return agentsOf(await get<unknown>('snapshot'));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    // An older daemon has none; a herdr that does not answer is told by the notes of the listing.
    if (error.status === 404 || error.status === 405) hasSnapshot = false;
    return [];
  }
}

export function agentsOf(body: unknown): readonly Agent[] {
  const result = (body as { readonly result?: { readonly snapshot?: { readonly agents?: unknown } } } | null)?.result;
  const agents = result?.snapshot?.agents;
  return Array.isArray(agents) ? (agents.filter((agent) => typeof agent === 'object' && agent !== null) as Agent[]) : [];
}

async function look(panes: readonly Pane[]): Promise<void> {
  const wanted = panes.filter((pane) => pane.isHerdrs && pane.status !== 'idle').slice(0, MOST_CARDS);
  const found = await Promise.all(
    wanted.map((pane) => get<Card>('agent-state', { pane: pane.pane }).then((card) => [pane.pane, card] as const, () => undefined)),
  );
  cards.value = new Map(found.filter((each) => each !== undefined));
}

const POLL_MS = 5_000;
const POLL_WITH_EVENTS_MS = 30_000;
const SETTLE_MS = 300;

/** Keeps the listing new for as long as somebody looks at it. */
export function watchPanes(): () => void {
  let ended = false;
  let socket: WebSocket | undefined;
  let failures = 0;
  let hasEvents = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let soon: ReturnType<typeof setTimeout> | undefined;

  const poll = () => {
    clearTimeout(timer);
    if (document.visibilityState === 'visible') void refresh();
    timer = setTimeout(poll, hasEvents ? POLL_WITH_EVENTS_MS : POLL_MS);
  };
  const listen = () => {
    if (ended) return;
    let opened = false;
    socket = new WebSocket(socketAddress('events', { token: device.value?.bearer }));
    socket.onopen = () => {
      opened = hasEvents = true;
      failures = 0;
    };
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string' || data.includes('"type":"heartbeat"')) return;
      clearTimeout(soon);
      soon = setTimeout(() => void refresh(), SETTLE_MS);
    };
    socket.onclose = () => {
      hasEvents = false;
      // A daemon that never let one in has no events: the poll is enough.
      if (!ended && (opened || failures < 2)) setTimeout(listen, backoff(failures++));
    };
  };
  const seen = () => document.visibilityState === 'visible' && poll();
  poll();
  listen();
  document.addEventListener('visibilitychange', seen);
  addEventListener('online', seen);
  addEventListener('offline', seen);
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(soon);
    socket?.close();
    document.removeEventListener('visibilitychange', seen);
    removeEventListener('online', seen);
    removeEventListener('offline', seen);
  };
}
