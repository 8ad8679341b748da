/** Requests to the daemon, with the token of this device, and what can become of them. */
import { address, type Query } from './address';
import { device, refuse } from './device';

/** The daemon answered, and said no. `text` is what it said. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly text: string,
  ) {
    super(text || `status ${status}`);
  }
}

/** Nobody answered. */
export class Unreachable extends Error {
  constructor() {
    super('The daemon cannot be reached.');
  }
}

const WITHIN_MS = 10_000;

async function ask(method: 'GET' | 'POST', path: string, query: Query, body: unknown, bearer = device.value?.bearer): Promise<Response> {
  const headers: Record<string, string> = {};
  if (bearer) headers['authorization'] = `Bearer ${bearer}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(address(path, query), {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(WITHIN_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch {
    throw new Unreachable();
  }
  if (response.ok) return response;
  const text = (await response.text().catch(() => '')).trim().slice(0, 300);
  // The token counts no more: this device has to be paired again.
  if (response.status === 401 && bearer !== undefined && bearer === device.value?.bearer) refuse();
  throw new Refused(response.status, text);
}

export async function get<T>(path: string, query: Query = {}): Promise<T> {
  return (await (await ask('GET', path, query, undefined)).json()) as T;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  return (await (await ask('POST', path, {}, body)).json()) as T;
}

/** Asks with a token that is not kept yet. */
export async function getWith<T>(bearer: string, path: string): Promise<T> {
  return (await (await ask('GET', path, {}, undefined, bearer)).json()) as T;
}

/** What a person is told about an error of these. */
export function said(error: unknown): string {
  if (error instanceof Refused) return error.text || `The daemon answered ${error.status}.`;
  return error instanceof Error ? error.message : String(error);
}
