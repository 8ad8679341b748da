import { expect, it } from 'vitest';

import { movedText, shortNames } from './moved';

it('a session that follows another is told from one that was written anew', () => {
  expect([movedText({ from: 'a1', to: 'b2' }), movedText({ from: 'a1', to: 'a1~1' }), movedText({ from: 'a1~1', to: 'a1~2' })]).toEqual([
    'New session', 'The session was written anew', 'The session was written anew',
  ]);
});

it('names are as long as it takes to tell them apart', () => {
  expect(shortNames({ from: '5a11f00d-0000', to: '0b50e55e-0000' })).toEqual(['5a11f00d', '0b50e55e']);
  expect(shortNames({ from: '5a11f00d-0001', to: '5a11f00d-0002' })).toEqual(['…00d-0001', '…00d-0002']);
  expect(shortNames({ from: 'a1', to: 'b2' })).toEqual(['a1', 'b2']);
});
