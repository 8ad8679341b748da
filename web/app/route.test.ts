import { describe, expect, it } from 'vitest';

import { hashOf, isSamePage, isStandalone, paneName, parse, type Route } from './route';

describe('an address', () => {
  const pages: readonly Route[] = [
    { page: 'pane', pane: 'w1:p2', subagent: undefined, seq: undefined },
    { page: 'pane', pane: 'claude:dir:/srv/a b/#x', subagent: undefined, seq: 12 },
    { page: 'pane', pane: 'work/w1:p1', subagent: 'a/b', seq: 3 },
    { page: 'settings' },
    { page: 'panes' },
    { page: 'pair', code: 'AB-12' },
  ];

  it.each(pages)('comes back as it was: %o', (page) => {
    expect(parse(hashOf(page))).toEqual(page);
  });

  it('that is none leads to the panes', () => {
    for (const hash of ['', '#', '#nowhere', '#pane', '#pane/']) expect(parse(hash)).toEqual({ page: 'panes' });
  });

  it('with a bad part is taken as far as it goes', () => {
    expect(parse('#pane/%zz/0')).toEqual({ page: 'pane', pane: '%zz', subagent: undefined, seq: undefined });
    expect(parse('#pane/a/1e9')).toMatchObject({ seq: undefined });
  });
});

it('panes that no herdr runs are known by their names', () => {
  expect(['claude:x', 'codex:latest', 'demo', 'w1:p1', 'work/w1:p1'].map(isStandalone)).toEqual([true, true, true, false, false]);
});

it('two addresses are of one page at whichever of its entries', () => {
  const same = (a: string, b: string) => isSamePage(parse(a), parse(b));
  expect([same('#pane/p/4', '#pane/p'), same('#pane/p/sub/a', '#pane/p/sub/a/9'), same('', '#')]).toEqual([true, true, true]);
  expect([same('#pane/p/sub/a', '#pane/p'), same('#pane/p', '#pane/q'), same('#settings', '#')]).toEqual([false, false, false]);
});

it('a pane without a name is called by what it follows', () => {
  expect(['claude:dir:/srv/ferry/', 'codex:0b50e55e-0000', 'pi:latest', 'claude:dir:/', 'w1:p1', 'demo'].map(paneName)).toEqual(['ferry', 'codex 0b50e55e', 'pi latest', '/', 'w1:p1', 'demo']);
});
