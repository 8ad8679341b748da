/** What the tab of the browser is called: whom one reads, and how many wait for an answer. */
import { effect, signal } from '@preact/signals';

import { listing } from '../wire/panes';

/** The conversation that is shown. */
export const shownTitle = signal<string | undefined>(undefined);

export function keepTitle(): void {
  effect(() => {
    const waiting = listing.value?.panes.filter(({ isHerdrs, status }) => isHerdrs && status === 'blocked').length ?? 0;
    document.title = titled(shownTitle.value, waiting);
  });
}

export function titled(shown: string | undefined, waiting: number): string {
  return `${waiting > 0 ? `(${waiting}) ` : ''}${shown === undefined ? '' : `${shown} · `}Panewire`;
}
