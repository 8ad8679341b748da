import { expect, it } from 'vitest';

import { millis, pauseBetween, span } from './time';
import { backoff } from './wire/backoff';

const at = (text: string) => new Date(`2026-03-01T${text}`).getTime();

it('a pause is told from ten minutes on', () => {
  expect(pauseBetween(at('08:00:00'), at('08:09:59'))).toBeUndefined();
  expect(pauseBetween(at('08:00:00'), at('08:10:00'))).toMatch(/^10 min later · /);
  expect(pauseBetween(undefined, at('08:00:00'))).toBeTruthy();
  expect(pauseBetween(at('08:00:00'), undefined)).toBeUndefined();
});

it('spans are said as people say them', () => {
  expect([400, 59_000, 90_000, 2 * 3_600_000, 26 * 3_600_000, 72 * 3_600_000].map(span)).toEqual(['1 s', '59 s', '2 min', '2 h 0 min', '1 day', '3 days']);
});

it('what is no time stamp is none', () => {
  expect([millis('yesterday'), millis(undefined), millis('1970-01-01T00:00:01Z')]).toEqual([undefined, undefined, 1000]);
});

it('waiting doubles up to half a minute', () => {
  const middle = () => 0.5;
  expect([0, 1, 2, 6, 50].map((failures) => backoff(failures, middle))).toEqual([500, 1_000, 2_000, 30_000, 30_000]);
  expect([backoff(0, () => 0), backoff(0, () => 1)]).toEqual([375, 625]);
});
