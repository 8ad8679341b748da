// An entry far from the newest one: its page is asked for directly, and read on from there.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { DESKTOP, launch, open, pane, PHONE, picture, Stage } from './stage.js';
import { long, Session } from './session.js';

const MANY = 50_000;
const SOUGHT = 100;

const stage = new Stage();
let browser;
let daemon;
let session;

before(async () => {
  session = long(new Session(stage.home, 'fa200000-0000-4000-8000-000000000001', '/srv/archive'), MANY).write();
  daemon = await stage.daemon();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

/** Opens the conversation at an entry, and writes down which pages are asked for. */
async function at(seq, viewport = PHONE) {
  const page = await open(browser, stage, { viewport });
  page.asked = [];
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => page.asked.push(JSON.parse(payload))));
  await page.goto(stage.url + pane(`claude:${session.id}`, String(seq)));
  await page.locator(`#entry-${seq}.marked`).waitFor();
  return page;
}

/** The entries in view. */
const shown = (page) =>
  page.locator('article').evaluateAll((rows) => rows.filter((row) => row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight).map((row) => Number(row.id.replace('entry-', ''))));
const painted = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Turns the wheel until an entry is in view; what is in view is a run all the way, with nothing of another place in it. */
async function wheelTo(page, seq, by) {
  await page.locator('.scroller').hover();
  for (let turns = 0; ; turns += 1) {
    const there = await shown(page);
    assert.deepEqual(there, there.map((_, index) => there[0] + index), 'what is shown is a run');
    if (there.includes(seq)) return;
    assert.ok(turns < 1_000, `entry ${seq} comes; now ${there[0]} to ${there.at(-1)} are there`);
    await page.mouse.wheel(0, by);
    await painted(page);
  }
}

describe(`entry ${SOUGHT} of ${MANY}`, () => {
  it('is there after one page', async () => {
    const page = await at(SOUGHT);
    await page.waitForFunction((id) => {
      const { top, bottom } = document.getElementById(id).getBoundingClientRect();
      return document.activeElement.id === id && top > 0 && bottom < innerHeight;
    }, `entry-${SOUGHT}`);
    assert.deepEqual(page.asked, [{ type: 'load_older', before_seq: 175, limit: 150 }]);
    await picture(page, 'far-phone');
    await page.context().close();
  });

  it('is read on from, a page at a time, and never by a leap to the newest', async () => {
    const page = await at(SOUGHT, DESKTOP);
    await wheelTo(page, 700, 900);
    const pages = page.asked.map(({ before_seq: before }) => before);
    assert.deepEqual(pages, pages.map((_, index) => 175 + 150 * index), 'each page once, the next behind the last');
    assert.ok(pages.length <= 8, `${pages.length} pages for 600 entries`);
    await wheelTo(page, 1, -900);
    await page.getByText('The beginning').waitFor();
    await page.context().close();
  });

  it('is one turn from the newest, which is told of meanwhile', async () => {
    const page = await at(SOUGHT);
    await page.getByRole('button', { name: 'Newest' }).waitFor();
    session.say('Said far away from what is read.').append();
    await page.getByRole('button', { name: '1 new' }).click();
    await page.locator(`#entry-${MANY + 1}`).waitFor();
    session.say('And the list stays at its end.').append();
    await page.locator(`#entry-${MANY + 2}`).waitFor();
    // Back, without a question: what was loaded is held.
    const asked = page.asked.length;
    await page.evaluate((hash) => (location.hash = hash), pane(`claude:${session.id}`, '101'));
    await page.locator('#entry-101.marked').waitFor();
    assert.equal(page.asked.length, asked);
    await page.context().close();
  });

  it('stays where it is while the daemon is away, and is read on from afterwards', async () => {
    const page = await at(SOUGHT, DESKTOP);
    const top = () => page.locator(`#entry-${SOUGHT}`).evaluate((row) => Math.round(row.getBoundingClientRect().top));
    const was = await top();
    await stage.stop(daemon);
    await page.locator('.link-state.offline').waitFor();
    daemon = await stage.daemon();
    await page.locator('.link-state.live').waitFor();
    assert.equal(await top(), was);
    await wheelTo(page, 200, 700);
    await page.context().close();
  });
});

describe('two runs', () => {
  it('become one where they meet, and nothing jumps', async () => {
    const page = await at(MANY - 260, DESKTOP);
    await page.locator('.scroller').hover();
    await wheelTo(page, MANY - 120, 500);
    await wheelTo(page, MANY, 900);
    await page.locator('.pill').waitFor({ state: 'detached' });
    assert.ok(page.asked.length <= 3, JSON.stringify(page.asked));
    await wheelTo(page, MANY - 330, -900);
    await page.context().close();
  });
});
