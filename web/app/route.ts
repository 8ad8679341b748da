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

/** Follows the address. A pairing code does not stay in it, nor in the history. */
export function followAddress(): void {
  const read = () => {
    route.value = parse(location.hash);
    if (route.value.page === 'pair') history.replaceState(null, '', location.pathname + location.search);
  };
  addEventListener('hashchange', read);
  read();
}

export function go(next: Route): void {
  location.hash = hashOf(next);
  // Where the address is that already, nothing else would tell.
  route.value = next;
}

/** Panes that no herdr runs: named by what they follow. */
export function isStandalone(pane: string): boolean {
  return pane === 'demo' || /^(?:claude|codex|pi|opencode|gemini):/.test(pane);
}
