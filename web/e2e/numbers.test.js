// What it costs, as a person would feel it: printed, not asserted.
import { after, before, it } from 'node:test';

import { DESKTOP, launch, open, pane, PHONE, Stage } from './stage.js';
import { long, Session } from './session.js';

const MANY = 50_000;
const LIVE = 10_000;

const stage = new Stage();
let browser;

before(async () => {
  await stage.daemon();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

const megabytes = async (page) => {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  return (usedSize / 1e6).toFixed(1);
};

it(`a session of ${MANY} entries`, async (context) => {
  const session = long(new Session(stage.home, '0b160000-0000-4000-8000-000000000001', '/srv/big'), MANY).write();
  const page = await open(browser, stage, { viewport: PHONE, hash: pane(`claude:${session.id}`) });
  await page.locator(`#entry-${MANY}`).waitFor();
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  context.diagnostic(`first paint after ${Math.round(paint)} ms`);
  const begun = Date.now();
  await page.goto(stage.url + pane(`claude:${session.id}`, '1'));
  await page.locator('#entry-1').waitFor({ timeout: 120_000 });
  context.diagnostic(`all of it loaded, to entry 1, in ${Date.now() - begun} ms; ${await megabytes(page)} MB of heap`);
  await page.context().close();
  const wide = await open(browser, stage, { viewport: DESKTOP, hash: pane(`claude:${session.id}`) });
  await wide.locator(`#entry-${MANY}`).waitFor();
  await wide.locator('.scroller').hover();
  await wide.evaluate(() => {
    globalThis.frames_ = [];
    let last = performance.now();
    const frame = (now) => {
      globalThis.frames_.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  for (let step = 0; step < 150; step += 1) await wide.mouse.wheel(0, -200);
  const frames = (await wide.evaluate(() => globalThis.frames_)).sort((a, b) => a - b);
  const at = (part) => Math.round(frames[Math.floor((frames.length - 1) * part)]);
  context.diagnostic(`scrolling: ${frames.length} frames, median ${at(0.5)} ms, 95 of 100 within ${at(0.95)} ms`);
  await wide.context().close();
});

it(`${LIVE} live entries`, async (context) => {
  const session = long(new Session(stage.home, '0b160000-0000-4000-8000-000000000002', '/srv/busy'), 10).write();
  const page = await open(browser, stage, { viewport: PHONE, hash: pane(`claude:${session.id}`) });
  await page.locator('#entry-10').waitFor();
  const before = await megabytes(page);
  const begun = Date.now();
  for (let written = 0; written < LIVE; written += 500) {
    for (let n = 0; n < 500; n += 1) session.say(`Live entry ${written + n}. The boat at the pier waits for the tide.`);
    session.append();
  }
  await page.locator(`#entry-${LIVE + 10}`).waitFor({ timeout: 120_000 });
  context.diagnostic(`shown after ${Date.now() - begun} ms; heap from ${before} to ${await megabytes(page)} MB`);
  await page.context().close();
});
