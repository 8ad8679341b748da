// What happens to a view besides being looked at: it is turned, sent away, opened twice, and asked for what is not there.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { DESKTOP, launch, NARROW, open, pane, picture, Stage, TOKEN } from './stage.js';
import { long, Session } from './session.js';

const TALL = { width: 800, height: 1100 };
const admin = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };

const stage = new Stage();
let browser;
let daemon;
let boats;
let mixed;

before(async () => {
  boats = long(new Session(stage.home, 'ed9e0000-0000-4000-8000-000000000001', '/srv/boats'), 400).write();
  mixed = new Session(stage.home, 'ed9e0000-0000-4000-8000-000000000002', '/srv/mixed')
    .user('مرحبا')
    .say('نص طويل من اليمين إلى اليسار:\n\n1. واحد\n2. اثنان\n\n> اقتباس\n\n| عمود | قيمة |\n|---|---|\n| أ | 1 |')
    .call('toolu_found', 'Grep', { pattern: 'lantern', path: '/srv' })
    .answer('toolu_found', 'src/lamp.rs:14 a-word-of-the-answer')
    .say('That is all.')
    .write();
  stage.pane('w1:p1', { cwd: '/srv/boats', session: boats.id, status: 'idle' });
  stage.pane('w1:p2', { cwd: '/srv/choice', status: 'blocked' });
  const options = [2, 3, 4, 5, 6, 7, 8, 9].flatMap((n) => [`   ${n}. Go by pier ${n}, which is the one that lies`, '      behind the lighthouse, where the water is deep enough']);
  stage.screens['w1:p2'] = ['─'.repeat(60), ' Bash command', '', '   make berth', '   Choose a pier', '', ' Do you want to proceed?', ' ❯ 1. Yes', ...options, '', ' Esc to cancel · Tab to amend', ''].join('\n');
  stage.desk();
  await stage.herdr();
  daemon = await stage.daemon({ herdr: 'socket' });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

const isLive = (page) => page.locator('.link-state.live').waitFor();

async function code() {
  const offered = await fetch(`${stage.url}admin/pairing`, { method: 'POST', headers: admin, body: '{}' });
  return (await offered.json()).code;
}

async function revokeAll() {
  const { devices } = await (await fetch(`${stage.url}admin/devices`, { headers: admin })).json();
  for (const { id } of devices) await fetch(`${stage.url}admin/devices/revoke`, { method: 'POST', headers: admin, body: JSON.stringify({ id }) });
}

/** The entry at the top of the list. */
const anchor = (page) =>
  page.evaluate(() => {
    const top = document.querySelector('.scroller').getBoundingClientRect().top;
    return [...document.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= top).id;
  });

describe('a device', () => {
  it('that is revoked while it looks is told so, and is back where it was with a new code', async () => {
    const page = await open(browser, stage, { paired: '', hash: `#pair=${await code()}` });
    await page.getByRole('button', { name: 'Pair this device' }).click();
    await page.locator('.pane').first().waitFor();
    await page.goto(stage.url + pane('w1:p1'));
    await isLive(page);
    await revokeAll();
    await page.getByRole('alert').filter({ hasText: 'paired no more' }).waitFor();
    await picture(page, 'revoked-phone');
    await page.getByLabel('Code').fill(await code());
    await page.getByRole('button', { name: 'Pair this device' }).click();
    await page.locator('#entry-400').waitFor();
    await page.context().close();
  });

  it('is one in all tabs of its browser; a link with a new code takes the place of the old one', async () => {
    const one = await open(browser, stage, { paired: '', hash: '#pair=00000000' });
    const other = await one.context().newPage();
    await other.goto(stage.url);
    await other.getByRole('button', { name: 'Pair this device' }).waitFor();
    const fresh = await code();
    await one.evaluate((hash) => (location.hash = hash), `#pair=${fresh}`);
    await one.waitForFunction((wanted) => document.querySelector('.code-input').value === wanted, fresh);
    assert.equal(new URL(one.url()).hash, '');
    await one.getByRole('button', { name: 'Pair this device' }).click();
    await one.locator('.pane').first().waitFor();
    await other.locator('.pane').first().waitFor();
    await other.evaluate(() => (location.hash = '#settings'));
    await other.getByRole('button', { name: /^Forget/ }).click();
    await one.getByRole('button', { name: 'Pair this device' }).waitFor();
    assert.equal(await one.getByRole('alert').filter({ hasText: 'no more' }).count(), 0, 'who forgets it knows why');
    await one.context().close();
  });
});

describe('a tablet that is turned', () => {
  it('keeps the conversation, the place in it and what was written', async () => {
    const page = await open(browser, stage, { viewport: TALL, hash: pane('w1:p1') });
    await page.locator('#entry-400').waitFor();
    await page.locator('#composer').fill('Half a sentence');
    let sockets = 0;
    page.on('websocket', (socket) => (sockets += socket.url().includes('/agent-transcript') ? 1 : 0));
    await page.locator('.scroller').hover();
    await page.mouse.wheel(0, -2_500);
    await page.locator('.pill').waitFor();
    // While it is scrolled the list takes no pointer; then it has come to rest.
    await page.waitForFunction(() => document.querySelector('.scroller > .top + div').style.pointerEvents !== 'none');
    const before = await anchor(page);
    await page.setViewportSize({ width: 1100, height: 800 });
    await page.locator('.split .pane').first().waitFor();
    assert.equal(await anchor(page), before);
    await page.setViewportSize(TALL);
    await page.locator('.single').waitFor();
    assert.equal(await page.locator('#composer').inputValue(), 'Half a sentence');
    assert.equal(sockets, 0, 'the one socket was enough');
    await page.evaluate(() => (location.hash = '#'));
    await page.locator('a.pane').first().waitFor();
    await page.evaluate((hash) => (location.hash = hash), pane('w1:p1'));
    await page.locator('#composer').waitFor();
    assert.equal(await page.locator('#composer').inputValue(), 'Half a sentence', 'a draft waits');
    await page.context().close();
  });
});

describe('who has all text twice as large on a phone', () => {
  it('still reads whether it is live, and what pane it is', async () => {
    const page = await open(browser, stage, { viewport: { width: 320, height: 640 } });
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Page.setFontSizes', { fontSizes: { standard: 32, fixed: 26 } });
    await page.evaluate((hash) => (location.hash = hash), pane('w1:p2'));
    await page.locator('button.choice:enabled').first().waitFor();
    assert.equal(await page.locator('.chat h1').evaluate((head) => head.scrollWidth - head.clientWidth), 0, 'the name is whole');
    await page.evaluate((hash) => (location.hash = hash), pane('w1:p1'));
    await isLive(page);
    assert.equal(await page.locator('.link-state').evaluate((state) => state.scrollWidth - state.clientWidth), 0, 'so is the word');
    await picture(page, 'twice-as-large-phone');
    await page.context().close();
  });
});

describe('an entry', () => {
  it('that is not there is said not to be', async () => {
    const page = await open(browser, stage, { viewport: NARROW, hash: pane('w1:p1', '999999') });
    await page.getByText('Entry 999999 is not in this conversation, which has 400.').waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByText('Entry 999999').waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('that is found in an answer is shown: its card opens', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane(`claude:${mixed.id}`) });
    await isLive(page);
    assert.equal(await page.getByText('a-word-of-the-answer').count(), 0);
    await page.keyboard.press('/');
    await page.keyboard.type('a-word-of-the-answer');
    await page.keyboard.press('Enter');
    await page.locator('article.marked').getByText('a-word-of-the-answer').waitFor();
    assert.equal(await page.locator('.search-count').innerText(), '1 of 1');
    await page.context().close();
  });

  it('of a right-to-left text has its lists, quotes and tables on the right', async () => {
    const page = await open(browser, stage, { viewport: NARROW, hash: pane(`claude:${mixed.id}`) });
    await page.locator('.markdown ol').waitFor();
    const found = await page.evaluate(() => {
      const style = (selector) => getComputedStyle(document.querySelector(selector));
      return [parseFloat(style('.markdown ol').paddingRight) > 0, style('.markdown blockquote').borderRightWidth, style('.markdown .table').direction];
    });
    assert.deepEqual(found, [true, '3px', 'rtl']);
    await picture(page, 'right-to-left-phone');
    await page.context().close();
  });
});

describe('at the top of what is loaded', () => {
  it('older entries come when a lost daemon is back, without a touch, and by a clock that was set back', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p1') });
    await page.locator('#entry-400').waitFor();
    await page.keyboard.press('k');
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() - 3_600_000;
    });
    await stage.stop(daemon);
    await page.locator('.link-state.offline').waitFor();
    await page.keyboard.press('g');
    await page.locator('#entry-251').waitFor();
    daemon = await stage.daemon({ herdr: 'socket' });
    await page.waitForFunction(() => document.querySelector('article[aria-posinset]') && [...document.querySelectorAll('article')].some((each) => Number(each.getAttribute('aria-posinset')) < 251));
    await page.context().close();
  });
});

describe('who goes by the keyboard alone', () => {
  it('is at the head of the page that opens, and the tab says whom one reads', async () => {
    const page = await open(browser, stage, { viewport: NARROW });
    await page.locator('.group.idle a.pane').focus();
    assert.equal(await page.title(), '(1) Panewire', 'one waits for an answer');
    await page.keyboard.press('Enter');
    await isLive(page);
    await page.waitForFunction(() => document.activeElement.tagName === 'H1' && document.activeElement.textContent === 'boats');
    assert.equal(await page.title(), '(1) boats · Panewire');
    await page.keyboard.press('u');
    await page.waitForFunction(() => document.activeElement.tagName === 'H1' && document.activeElement.textContent === 'Panewire');
    await page.context().close();
  });
});

describe('a question with many options', () => {
  for (const [name, viewport] of [['upright', NARROW], ['sideways', { width: 640, height: 360 }]]) {
    it(`leaves the head and the place to answer on the screen of a phone: ${name}`, async () => {
      const page = await open(browser, stage, { viewport, hash: pane('w1:p2') });
      await page.locator('button.choice').nth(8).waitFor();
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('button', { name: 'Keys' }).click();
      const { above, below, header, keys } = await page.evaluate(() => ({
        above: document.scrollingElement.scrollTop + document.getElementById('view').scrollTop,
        below: document.querySelector('.dock').getBoundingClientRect().bottom - innerHeight,
        header: document.querySelector('.chat .bar').getBoundingClientRect().top,
        keys: new Set([...document.querySelectorAll('.pad button')].map((each) => each.getBoundingClientRect().top)).size,
      }));
      assert.deepEqual([above, below, header, keys], [0, 0, 0, 1]);
      await picture(page, `many-options-${name}`);
      await page.context().close();
    });
  }
});
