/** Where the daemon is: beside this page, whatever prefix a proxy put before it. */
const base = (): URL => new URL('./', location.href);

/** What the storage calls something of the daemon that this page is from. */
export function keyAt(name: string, page: string): string {
  const { pathname } = new URL('./', page);
  return pathname === '/' ? name : `${name}:${pathname}`;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

export function address(path: string, query: Query = {}): URL {
  const url = new URL(path, base());
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/** The same as a WebSocket: `wss` where this page came over TLS. */
export function socketAddress(path: string, query: Query = {}): URL {
  const url = address(path, query);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url;
}
