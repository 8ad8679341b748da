/** Who this browser is to the daemon. Kept in this origin's storage only. */
import { signal } from '@preact/signals';

import { load, store } from '../storage';
import { keyAt } from './address';

export interface Device {
  readonly bearer: string;
  readonly name: string;
  /** `read` can look and not touch; the master token is `full`. */
  readonly scope: 'full' | 'read';
  readonly server?: string | undefined;
}

/** Daemons below several paths of one origin share its storage, and none may be shown the bearer of another. */
const KEY = keyAt('panewire.device', globalThis.location?.href ?? 'http://localhost/');

function isDevice(value: unknown): value is Device {
  const device = value as Partial<Device> | null;
  return typeof device === 'object' && typeof device?.bearer === 'string' && typeof device.name === 'string';
}

function kept(): Device | undefined {
  const value = load(KEY);
  return isDevice(value) ? value : undefined;
}

export const device = signal<Device | undefined>(kept());

/** Whether the daemon sent this device away: then it is told why it has to be paired again. */
export const isRefused = signal(false);

export function keep(next: Device | undefined): void {
  device.value = next;
  isRefused.value = false;
  store(KEY, next);
}

/** The daemon does not know this token any more. */
export function refuse(): void {
  keep(undefined);
  isRefused.value = true;
}

/** What another tab of this origin pairs or forgets is so in this one, too. */
export function followStorage(): void {
  addEventListener('storage', ({ key }) => {
    if (key !== null && key !== KEY) return;
    device.value = kept();
    isRefused.value = false;
  });
}
