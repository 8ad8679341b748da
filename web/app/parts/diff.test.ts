import { expect, it } from 'vitest';

import { counts, parseDiff } from './diff';

it('lines are numbered by the file that they are in', () => {
  const lines = parseDiff('@@ -5,3 +7,4 @@\n same\n-old\n+new\n+more\n same\n\\ No newline at end of file');
  expect(lines.map(({ kind, number }) => [kind, number])).toEqual([
    ['hunk', undefined], ['same', 7], ['gone', 6], ['new', 8], ['new', 9], ['same', 10], ['note', undefined],
  ]);
  expect(counts(lines)).toEqual({ added: 2, removed: 1 });
});

it('a changed line shows where it changed', () => {
  const [, gone, fresh] = parseDiff('@@ -1 +1 @@\n-let tide = low;\n+let tide = high;');
  expect([gone?.text.slice(...(gone.mark ?? [0, 0])), fresh?.text.slice(...(fresh.mark ?? [0, 0]))]).toEqual(['low', 'high']);
});

it('lines that have little in common are two lines', () => {
  expect(parseDiff('@@ -1 +1 @@\n-abcdefgh\n+xyz').every((line) => line.mark === undefined)).toBe(true);
});
