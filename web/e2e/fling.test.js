// Nothing that is looked at jumps, however fast one scrolls over rows that were never measured.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { launch, open, pane, Stage } from './stage.js';
import { Session, varied } from './session.js';

const MANY = 50_000;
const MIDDLE = 25_000;
/** So tall that a finger goes further than is drawn ahead, and has rows in view that were not measured. */
const TALL = { width: 500, height: 2000 };
/** What a row may be off: rounding. */
const OFF_PX = 2;

const stage = new Stage();
let browser;
let page;
let touch;

before(async () => {
  const session = varied(new Session(stage.home, 'f1190000-0000-4000-8000-000000000001', '/srv/fling'), MANY).write();
  await stage.daemon();
  browser = await launch();
  page = await open(browser, stage, { viewport: TALL, hash: pane(`claude:${session.id}`, String(MIDDLE)) });
  await page.locator(`#entry-${MIDDLE}.marked`).waitFor();
  const client = await page.context().newCDPSession(page);
  touch = (type, y, timestamp) => client.send('Input.dispatchTouchEvent', { type, touchPoints: y === undefined ? [] : [{ x: TALL.width / 2, y }], timestamp });
  // How far the list was moved by the page itself, and where what each row in view says was painted.
  await page.evaluate(() => {
    const list = document.querySelector('.scroller');
    let byItself = 0;
    for (const name of ['scrollBy', 'scrollTo']) {
      const scroll = list[name].bind(list);
      list[name] = (...by) => {
        const from = list.scrollTop;
        scroll(...by);
        byItself += list.scrollTop - from;
      };
    }
    globalThis.seen = () => {
      const view = list.getBoundingClientRect();
      const shown = [...list.querySelectorAll('article')].filter((row) => row.checkVisibility({ visibilityProperty: true }));
      const rows = shown.map((row) => [row.id, row.lastElementChild.getBoundingClientRect()]).filter(([, { top, bottom, height }]) => height > 0 && bottom > view.top && top < view.bottom);
      return { moved: list.scrollTop - byItself, rows: Object.fromEntries(rows.map(([id, { top }]) => [id, top])) };
    };
    // What the next frame paints: behind the list's own measuring, which may move it, and before anything else comes.
    const probe = document.body.appendChild(document.createElement('div'));
    probe.style.cssText = 'position: absolute; height: 1px';
    let waiting = [];
    new ResizeObserver(() => {
      const frame = globalThis.seen();
      const told = waiting;
      waiting = [];
      for (const tell of told) tell(frame);
    }).observe(probe);
    globalThis.painted = () =>
      new Promise((done) =>
        requestAnimationFrame(() => {
          probe.style.width = probe.style.width === '1px' ? '2px' : '1px';
          waiting.push(done);
        }),
      );
    // Every frame from now on, until the list has moved and then stood still for ten.
    globalThis.film = () => {
      globalThis.filmed = new Promise((done) => {
        const frames = [];
        const stands = () => frames.length > 10 && frames.at(-1).moved !== frames[0].moved && frames.slice(-10).every(({ moved }) => moved === frames.at(-1).moved);
        const frame = () => globalThis.painted().then((each) => (frames.push(each), stands() ? done(frames) : frame()));
        frame();
      });
    };
  });
});

after(async () => {
  await browser?.close();
  await stage.end();
});

/** How far rows that were in view before and after moved more than the finger moved them. */
const offBy = (was, is) => Object.keys(is.rows).filter((id) => id in was.rows).map((id) => is.rows[id] - was.rows[id] + (is.moved - was.moved));

const look = () => page.evaluate(() => globalThis.painted().then(globalThis.painted));

/** There is room to scroll that way: pages come as they come. */
const room = (way) =>
  page.waitForFunction((up) => {
    const list = document.querySelector('.scroller');
    return (up ? list.scrollTop : list.scrollHeight - list.scrollTop - list.clientHeight) > 1_700;
  }, way > 0);

for (const [name, way] of [['up', 1], ['down', -1]]) {
  describe(`over ${MANY} entries, ${name}`, () => {
    it('a row stays under the finger, though it goes further between two frames than is drawn ahead', async () => {
      const first = way > 0 ? 100 : 1_850;
      let followed = 0;
      for (let drags = 0; drags < 25; drags += 1) {
        await room(way);
        await touch('touchStart', first);
        // The first bit of the way only says that this is a drag.
        await touch('touchMove', first + way * 30);
        const was = await look();
        await touch('touchMove', first + way * 1_630);
        const is = await look();
        await touch('touchEnd');
        assert.ok(way * (was.moved - is.moved) > 1_000, `the finger moved the list by ${was.moved - is.moved} px`);
        for (const off of offBy(was, is)) {
          assert.ok(Math.abs(off) <= OFF_PX, `drag ${drags}: a row is off by ${off} px`);
          followed += 1;
        }
      }
      assert.ok(followed >= 20, `${followed} rows could be followed`);
    });

    it('no row moves by itself in a fling', async () => {
      const first = way > 0 ? 200 : 1_800;
      let followed = 0;
      for (let flings = 0; flings < 5; flings += 1) {
        await room(way);
        await page.evaluate(() => void globalThis.film());
        // By its own clock the finger is as quick as it is meant to be, on a slow machine, too.
        const begun = Date.now() / 1000;
        await touch('touchStart', first, begun);
        for (let step = 1; step <= 5; step += 1) await touch('touchMove', first + way * step * 250, begun + step * 0.004);
        await touch('touchEnd', undefined, begun + 0.024);
        const frames = await page.evaluate(() => globalThis.filmed);
        const far = way * (frames[0].moved - frames.at(-1).moved);
        assert.ok(far > 1_500, `the fling went ${far} px, further than the finger`);
        for (const [at, is] of frames.entries()) {
          for (const off of at > 0 ? offBy(frames[at - 1], is) : []) {
            assert.ok(Math.abs(off) <= OFF_PX, `fling ${flings}, frame ${at}: a row is off by ${off} px`);
            followed += 1;
          }
        }
      }
      assert.ok(followed > 100, `${followed} rows could be followed`);
    });
  });
}
