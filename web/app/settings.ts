/** How this browser shows things. */
import { effect, signal } from '@preact/signals';

import { load, store } from './storage';

export const THEMES = ['system', 'light', 'dark'] as const;
export const SIZES = ['small', 'normal', 'large', 'huge'] as const;
export type Theme = (typeof THEMES)[number];
export type Size = (typeof SIZES)[number];

const KEY = 'panewire.look';
const kept = load(KEY) as { readonly theme?: unknown; readonly size?: unknown } | null;

export const theme = signal<Theme>(THEMES.find((each) => each === kept?.theme) ?? 'system');
export const size = signal<Size>(SIZES.find((each) => each === kept?.size) ?? 'normal');

/** What is around the page on a phone: the ground, as the style sheet has it. */
const GROUNDS = { light: '#f7f5f1', dark: '#14161a' } as const;

export function applyLook(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    dataset['theme'] = theme.value;
    dataset['size'] = size.value;
    for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
      const ownTheme = meta.media.includes('dark') ? 'dark' : 'light';
      meta.content = GROUNDS[theme.value === 'system' ? ownTheme : theme.value];
    }
    store(KEY, { theme: theme.value, size: size.value });
  });
}
