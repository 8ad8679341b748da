/** Where in the view one is, as it stands behind the `#` of the address. */
import { signal } from '@preact/signals';

export type Route =
  | { readonly page: 'panes' }
  | { readonly page: 'settings' }
  | { readonly page: 'pair'; readonly code: string }
  | { readonly page: 'pane'; readonly pane: string; readonly subagent?: string | undefined; readonly seq?: number | undefined };

/** A part that is escaped badly is taken as it stands. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parse(hash: string): Route {
  const text = hash.replace(/^#/, '');
  if (text.startsWith('pair=')) return { page: 'pair', code: decoded(text.slice('pair='.length)) };
  const [head = '', pane = '', ...rest] = text.split('/');
  if (head === 'settings') return { page: 'settings' };
  if (head !== 'pane' || pane === '') return { page: 'panes' };
  const subagent = rest[0] === 'sub' && rest[1] ? decoded(rest[1]) : undefined;
  const last = rest[subagent === undefined ? 0 : 2] ?? '';
  const seq = /^[1-9]\d{0,14}$/.test(last) ? Number(last) : undefined;
  return { page: 'pane', pane: decoded(pane), subagent, seq };
}

export function hashOf(route: Route): string {
  switch (route.page) {
    case 'panes':
      return '#';
    case 'settings':
      return '#settings';
    case 'pair':
      return `#pair=${encodeURIComponent(route.code)}`;
    case 'pane': {
      const child = route.subagent === undefined ? '' : `/sub/${encodeURIComponent(route.subagent)}`;
      return `#pane/${encodeURIComponent(route.pane)}${child}${route.seq === undefined ? '' : `/${route.seq}`}`;
    }
  }
}

export const route = signal<Route>({ page: 'panes' });

/** What the history keeps with an address of ours: where one was before it, the nearest last. */
interface Step {
  readonly trail: readonly string[];
}

const TRAIL = 32;

/** What whoever goes on from here has behind them. */
let behind: readonly string[] = [];

function trail(): readonly string[] {
  const kept = (history.state as Partial<Step> | null)?.trail;
  return Array.isArray(kept) ? kept.filter((each) => typeof each === 'string') : [];
}

/** Takes the address as it stands, with what was said of it in the history. A pairing code stays in neither. */
function arrive(): void {
  route.value = parse(location.hash);
  const step: Step = { trail: history.state === null ? behind : trail() };
  history.replaceState(step, '', route.value.page === 'pair' ? location.pathname + location.search : location.href);
  behind = [...step.trail, location.hash].slice(-TRAIL);
}

export function followAddress(): void {
  // It comes for a new address, too, and where only the history was walked between two that are the same.
  addEventListener('popstate', arrive);
  arrive();
}

/** Goes on to another page. */
export function go(next: Route): void {
  location.hash = hashOf(next);
  // Where the address is that already, nothing else would tell.
  route.value = next;
}

/** Goes to the page above this one: back to it, if that is where one came from. Else it takes the place of this one, as if one had. */
export function up(to: Route): void {
  if (isSamePage(parse(location.hash), to)) {
    route.value = to;
    return;
  }
  const steps = trail();
  const at = steps.findLastIndex((hash) => isSamePage(parse(hash), to));
  if (at >= 0) return history.go(at - steps.length);
  history.replaceState(history.state, '', hashOf(to));
  arrive();
}

/** Whether both are one page, at whichever of its entries. */
export function isSamePage(a: Route, b: Route): boolean {
  if (a.page === 'pane' && b.page === 'pane') return a.pane === b.pane && a.subagent === b.subagent;
  return a.page === b.page;
}

/** Panes that no herdr runs: named by what they follow. */
export function isStandalone(pane: string): boolean {
  return pane === 'demo' || /^(?:claude|codex|pi|opencode|gemini):/.test(pane);
}

/** What a pane is called where nobody gave it a name: what it follows, in short. */
export function paneName(pane: string): string {
  const [, kind, what = ''] = /^(claude|codex|pi|opencode|gemini):(.+)$/s.exec(pane) ?? [];
  if (kind === undefined) return pane;
  if (what.startsWith('dir:')) return what.slice('dir:'.length).split('/').filter((part) => part !== '').at(-1) ?? '/';
  return `${kind} ${what.slice(0, 8)}`;
}
