import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { DESKTOP, launch, open, pane, picture, Stage } from './stage.js';
import { long, Session } from './session.js';

const LONG = 3_200;

const stage = new Stage();
let browser;
let daemon;
let sessions = 0;

before(async () => {
  daemon = await stage.daemon();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

function session(cwd) {
  sessions += 1;
  return new Session(stage.home, `11fe0000-0000-4000-8000-00000000000${sessions}`, cwd);
}

const numbers = (page) => page.locator('article').evaluateAll((rows) => rows.map((row) => Number(row.id.replace('entry-', ''))));
/** A row with this text; what is read out is in the page a second time. */
const row = (page, text) => page.locator('article', { hasText: text });
const isLive = (page) => page.locator('.link-state.live').waitFor();

/** Where each entry that is drawn stands. */
const places = async (page) =>
  new Map(await page.locator('article').evaluateAll((rows) => rows.map((row) => [Number(row.id.replace('entry-', '')), Math.round(row.getBoundingClientRect().top)])));

/** What stands at the top of the list: which entry, and where. */
const anchor = (page) =>
  page.evaluate(() => {
    const top = document.querySelector('.scroller').getBoundingClientRect().top;
    const row = [...document.querySelectorAll('article')].find((each) => each.getBoundingClientRect().top >= top);
    return { id: row.id, y: row.getBoundingClientRect().top };
  });

describe('live', () => {
  it('entries come as the agent writes, each once, and the list stays at its end', async () => {
    const live = long(session('/srv/live'), 30).write();
    const page = await open(browser, stage, { hash: pane(`claude:${live.id}`) });
    await isLive(page);
    await page.locator('#entry-30').waitFor();
    live.say('Entry 31 has just come.').append();
    await row(page, 'Entry 31 has just come.').waitFor();
    live.call('toolu_live', 'Bash', { command: 'sleep 1', description: 'Wait for the tide' }).append();
    await page.locator('.tool.pending').waitFor();
    live.answer('toolu_live', 'high water', { stdout: 'high water', stderr: '', interrupted: false }).append();
    await page.locator('.tool.ok').waitFor();
    const below = await page.locator('.scroller').evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
    assert.ok(below < 48, `${below} px below`);
    await page.context().close();
  });

  it('a reader who scrolled up is told of what is new, and is not moved', async () => {
    const live = long(session('/srv/pill'), 120).write();
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane(`claude:${live.id}`) });
    await page.locator('#entry-120').waitFor();
    await page.locator('.scroller').hover();
    // While the list still settles at its end, a turn of the wheel may be taken back.
    const pill = page.getByRole('button', { name: 'Newest' });
    for (let turns = 0; turns < 20 && !(await pill.isVisible()); turns += 1) {
      await page.mouse.wheel(0, -1_500);
      await pill.waitFor({ timeout: 1_000 }).catch(() => {});
    }
    await pill.waitFor();
    const before = await anchor(page);
    live.say('One more.').say('And another.').append();
    await page.getByRole('button', { name: '2 new' }).waitFor();
    assert.deepEqual(await anchor(page), before);
    await picture(page, 'new-below-desktop');
    await page.getByRole('button', { name: '2 new' }).click();
    await row(page, 'And another.').waitFor();
    await page.context().close();
  });

  it('twenty pages up nothing jumps, nothing is missing and nothing is there twice', async () => {
    const far = long(session('/srv/far'), LONG).write();
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane(`claude:${far.id}`) });
    await page.locator(`#entry-${LONG}`).waitFor();
    let sockets = 0;
    page.on('websocket', (socket) => (sockets += socket.url().includes('/agent-transcript') ? 1 : 0));
    await page.locator('.scroller').hover();
    const STEP = 700;
    let before = await places(page);
    const seen = new Set(before.keys());
    for (let steps = 0; !before.has(1); steps += 1) {
      assert.ok(steps < 2_000, 'it comes to the beginning');
      await page.mouse.wheel(0, -STEP);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const now = await places(page);
      const there = [...now.keys()];
      assert.deepEqual(there, Array.from({ length: there.length }, (_, at) => there[0] + at), 'what is shown is a run: nothing twice, nothing missing');
      // Rows that are measured on the way may take a little more or less room than was thought.
      for (const number of there.filter((each) => before.has(each))) {
        const moved = now.get(number) - before.get(number);
        assert.ok(moved > -2 && moved < STEP * 1.2, `entry ${number} moved by ${moved} px`);
      }
      there.forEach((number) => seen.add(number));
      before = now;
    }
    await page.locator('#entry-1').waitFor();
    assert.equal(seen.size, LONG, 'every entry was seen on the way');
    assert.equal(sockets, 0, 'the one socket was enough');
    await page.keyboard.press('G');
    await page.locator(`#entry-${LONG}`).waitFor();
    await page.context().close();
  });

  it('an older page that comes does not move what is looked at', async () => {
    const far = long(session('/srv/still'), 900).write();
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane(`claude:${far.id}`) });
    await page.locator('#entry-900').waitFor();
    // What the server sends for a page is held back until the list has come to rest.
    await page.locator('.scroller').hover();
    for (let round = 0; round < 3; round += 1) {
      const setsBefore = await page.evaluate(() => document.querySelector('.scroller').scrollHeight);
      await page.mouse.wheel(0, -100_000);
      await page.waitForFunction((height) => document.querySelector('.scroller').scrollHeight > height, setsBefore);
      await page.locator('.scroller[aria-busy="false"]').waitFor();
      const first = await anchor(page);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const then = await page.locator(`#${first.id}`).evaluate((row) => row.getBoundingClientRect().top);
      assert.ok(Math.abs(then - first.y) <= 2, `${first.id} moved by ${then - first.y} px`);
    }
    await page.context().close();
  });
});

describe('a lost daemon', () => {
  it('is said, and when it is back what was missed comes, and nothing twice', async () => {
    const live = long(session('/srv/restart'), 200).write();
    const page = await open(browser, stage, { hash: pane(`claude:${live.id}`) });
    await isLive(page);
    await page.locator('#entry-200').waitFor();
    await stage.stop(daemon);
    await page.locator('.link-state.offline').waitFor();
    await picture(page, 'offline-phone');
    live.say('Written while nobody served.').say('And this, too.').append();
    const urls = [];
    const hellos = [];
    page.on('websocket', (socket) => {
      if (!socket.url().includes('/agent-transcript')) return;
      urls.push(new URL(socket.url()).searchParams.get('since_seq'));
      socket.on('framereceived', ({ payload }) => payload.includes('"type":"hello"') && hellos.push(JSON.parse(payload)));
    });
    daemon = await stage.daemon();
    await row(page, 'And this, too.').waitFor();
    await isLive(page);
    assert.equal(urls.at(-1), '200', 'it names the last entry that it has');
    assert.deepEqual([hellos.at(-1).resumed, hellos.at(-1).backlog_count], [true, 2]);
    assert.equal(await row(page, 'Written while nobody served.').count(), 1);
    live.say('And on it goes.').append();
    await row(page, 'And on it goes.').waitFor();
    await page.context().close();
  });
});

describe('a lost network', () => {
  it('is said at once, even before the first heartbeat, and what was missed comes when it is back', async () => {
    const live = long(session('/srv/network'), 20).write();
    const page = await open(browser, stage, { hash: pane(`claude:${live.id}`) });
    await isLive(page);
    await page.context().setOffline(true);
    await page.locator('.link-state.offline').waitFor();
    live.say('Written without a network.').append();
    await page.context().setOffline(false);
    await row(page, 'Written without a network.').waitFor();
    await isLive(page);
    assert.equal(await row(page, 'Written without a network.').count(), 1);
    await page.context().close();
  });
});

describe('the list', () => {
  it('says at once that the network is lost, and that it is back', async () => {
    const page = await open(browser, stage);
    await page.locator('a.pane').first().waitFor();
    await page.context().setOffline(true);
    await page.getByRole('status').filter({ hasText: 'cannot be reached' }).waitFor({ timeout: 4_000 });
    await page.context().setOffline(false);
    await page.getByRole('status').filter({ hasText: 'cannot be reached' }).waitFor({ state: 'detached', timeout: 4_000 });
    await page.context().close();
  });
});

describe('a pane that moves on', () => {
  it('shows the new session, and nothing of the old one', async () => {
    const cwd = '/srv/rotation';
    const old = long(session(cwd), 20).write();
    const page = await open(browser, stage, { hash: pane(`claude:dir:${cwd}`) });
    await page.locator('#entry-20').waitFor();
    await isLive(page);
    const fresh = session(cwd).user('A new session begins here.').write();
    await row(page, 'A new session begins here.').waitFor({ timeout: 15_000 });
    assert.deepEqual(await numbers(page), [1]);
    await isLive(page);
    const said = page.getByRole('status').filter({ hasText: 'New session' });
    assert.match(await said.innerText(), new RegExp(`^New session\\.\\s+…${old.id.slice(-8)}\\s.*${fresh.id.slice(-8)}\\s+The old one\\s+Close$`, 's'));
    assert.equal(await page.locator('.moved').getByText('New session').count(), 1, 'a line says where it begins');
    await picture(page, 'new-session-phone');
    await said.getByRole('link', { name: 'The old one' }).click();
    await page.locator('#entry-20').waitFor();
    assert.equal(await page.locator('.aside, .moved').count(), 0);
    await page.goBack();
    await row(page, 'A new session begins here.').waitFor();
    assert.equal(await page.locator('.aside, .moved').count(), 0, 'whoever comes later was not moved');
    await page.context().close();
  });
});
