/** Who this browser is to the daemon. Kept in this origin's storage only. */
import { signal } from '@preact/signals';

import { load, store } from '../storage';

export interface Device {
  readonly bearer: string;
  readonly name: string;
  /** `read` can look and not touch; the master token is `full`. */
  readonly scope: 'full' | 'read';
  readonly server?: string | undefined;
}

const KEY = 'panewire.device';

function isDevice(value: unknown): value is Device {
  const device = value as Partial<Device> | null;
  return typeof device === 'object' && typeof device?.bearer === 'string' && typeof device.name === 'string';
}

const kept = load(KEY);

export const device = signal<Device | undefined>(isDevice(kept) ? kept : undefined);

export function keep(next: Device | undefined): void {
  device.value = next;
  store(KEY, next);
}
