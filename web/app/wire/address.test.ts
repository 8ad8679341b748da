import { expect, it } from 'vitest';

import { keyAt } from './address';

it('what is kept of a daemon is named by where it lies', () => {
  const keys = ['https://host/#pane/a', 'https://host/?x=/y/', 'https://host/desk/#settings', 'https://host/desk/index.html', 'https://host/attic/'].map((page) => keyAt('it', page));
  expect(keys).toEqual(['it', 'it', 'it:/desk/', 'it:/desk/', 'it:/attic/']);
});
