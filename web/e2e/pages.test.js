import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { DESKTOP, launch, NARROW, open, pane, PHONE, picture, Stage, TOKEN } from './stage.js';
import { Session, story } from './session.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const FERRY = '5a11f00d-0000-4000-8000-000000000001';

const stage = new Stage();
let browser;

before(async () => {
  const ferry = story(new Session(stage.home, FERRY, '/srv/ferry')).write();
  story(new Session(stage.home, '0b50e55e-0000-4000-8000-000000000002', '/srv/observatory')).write();
  const office = join(stage.directory, 'harbour-office');
  mkdirSync(join(office, '.git'), { recursive: true });
  writeFileSync(join(office, '.git/HEAD'), 'ref: refs/heads/tide-tables\n');
  stage.pane('w1:p1', { cwd: '/srv/ferry', session: ferry.id, status: 'working', title: 'Fix the timetable at low tide' });
  stage.pane('w1:p2', { cwd: '/srv/lighthouse', status: 'blocked' });
  stage.pane('w2:p1', { cwd: office, status: 'done', title: 'Write the report', agent: 'codex' });
  stage.pane('w2:p2', { cwd: '/srv/buoys', status: 'idle', agent: 'opencode' });
  stage.screens['w1:p2'] = readFileSync(new URL('screens/permission.txt', import.meta.url), 'utf8');
  stage.desk();
  await stage.herdr();
  await stage.daemon({ herdr: 'socket', args: ['--demo'] });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

/** Faults that axe finds and calls serious, as text. */
async function faults(page) {
  // As a script of the test's own: the page's policy would let none in.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}

describe('the panes', () => {
  it('stand in the order in which they need somebody', async () => {
    const page = await open(browser, stage);
    await page.getByText('Do you want to proceed?').waitFor();
    const heads = await page.locator('.group h2').allInnerTexts();
    assert.deepEqual(heads.map((head) => head.replace(/\s*\d+$/, '')), ['Needs you', 'Done', 'Working', 'Idle', 'Sessions']);
    assert.equal(await page.locator('.group.blocked .pane-does').innerText(), 'Do you want to proceed?');
    assert.equal(await page.locator('.group.working .pane-title').innerText(), 'ferry');
    assert.match(await page.locator('.group.done .pane-facts').innerText(), /tide-tables/, 'the branch of its directory');
    // Nobody follows it, and its subagents are counted all the same.
    await page.locator('.group.working .pane-facts').getByText('1 running').waitFor();
    assert.equal(await page.locator('.group.sessions').getByText('ferry', { exact: true }).count(), 0, 'a session that a pane runs is listed once');
    assert.deepEqual([...page.hosts], [new URL(stage.url).host], 'nothing is asked of another host');
    await picture(page, 'panes-phone');
    await page.context().close();
  });

  it('can be filtered', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP });
    await page.getByPlaceholder('Filter').fill('obser');
    await page.waitForFunction(() => document.querySelectorAll('.pane').length === 1);
    assert.equal(await page.locator('.pane-title').innerText(), 'observatory');
    await page.context().close();
  });
});

describe('the keyboard', () => {
  it('walks through the panes', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP });
    await page.locator('.group.sessions a.pane').first().waitFor();
    const isAt = (group) => page.waitForFunction((wanted) => document.activeElement?.closest('.group')?.classList.contains(wanted), group);
    await page.keyboard.press('j');
    await isAt('blocked');
    await page.keyboard.press('j');
    await isAt('done');
    await page.keyboard.press('k');
    await isAt('blocked');
    await page.keyboard.press('G');
    await isAt('sessions');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.waitForFunction(() => document.activeElement?.id === 'filter');
    await page.keyboard.type('jk');
    assert.equal(await page.getByPlaceholder('Filter').inputValue(), 'jk', 'what is typed is typed');
    await page.context().close();
  });
});

describe('a conversation', () => {
  it('shows what was said, called and changed', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p1') });
    await page.getByText('14 of 14').waitFor();
    assert.match(await page.locator('.link-state').innerText(), /^live/);
    await page.keyboard.press('g');
    await page.locator('#entry-1').waitFor();
    assert.match(await page.locator('#entry-1').innerText(), /The timetable of the ferry is wrong/);
    const edit = page.locator('article:has(.tool-name:text-is("Edit"))');
    await edit.scrollIntoViewIfNeeded();
    assert.equal(await edit.locator('.tool-counts').innerText(), '+2 −2');
    assert.deepEqual(await edit.locator('.line.new .text').allInnerTexts(), ['        Tide::Low => 20 + RAMP_MINUTES,', '    Duration::from_secs(60 * (base + boats.div_ceil(3) as u64))']);
    const test = page.locator('article:has-text("Run the tests of the ferry")');
    await test.scrollIntoViewIfNeeded();
    assert.match(await test.locator('.output').innerText(), /running 14 tests\n\.+F\n\[stderr\] error\[E0425\]/, 'colours of a terminal are taken out');
    await page.waitForFunction(() => document.querySelector('.hljs-keyword') !== null, undefined, { timeout: 10_000 });
    assert.deepEqual(page.wrong, [], 'every frame is as the schema says');
    assert.ok(page.frames > 10, `${page.frames} frames`);
    await page.context().close();
  });

  it('is found again by the address of an entry', async () => {
    const page = await open(browser, stage, { hash: pane(`claude:${FERRY}`, '8') });
    await page.locator('#entry-8.marked').waitFor();
    await page.waitForFunction(() => {
      const { top, bottom } = document.getElementById('entry-8').getBoundingClientRect();
      return document.activeElement.id === 'entry-8' && bottom > 0 && top < innerHeight;
    });
    await page.context().close();
  });

  it('is walked through by keys', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p1') });
    await page.getByText('14 of 14').waitFor();
    await page.keyboard.press('g');
    const focused = () => page.evaluate(() => document.activeElement?.id);
    const isAt = (id) => page.waitForFunction((wanted) => document.activeElement?.id === wanted, id);
    await isAt('entry-1');
    await page.keyboard.press('j');
    await isAt('entry-2');
    await page.keyboard.press('Enter');
    await page.locator('#entry-2 .markdown').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await isAt('entry-4');
    await page.keyboard.press('j');
    await isAt('entry-6');
    assert.equal(await focused(), 'entry-6', 'an answer is passed over: it stands with its call');
    await page.keyboard.press('k');
    await isAt('entry-4');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('/');
    await page.waitForFunction(() => document.activeElement?.tagName === 'INPUT');
    await page.keyboard.type('harbour office');
    await page.getByText(/of \d+$/).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('article.marked').waitFor();
    await picture(page, 'search-desktop');
    await page.context().close();
  });

  it('leads to those who were sent to work, and back', async () => {
    const page = await open(browser, stage, { hash: pane('w1:p1') });
    await page.getByRole('link', { name: /^Conversation of Check the callers/ }).click();
    await page.getByText('neither rounds').waitFor();
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'Check the callers of layover');
    assert.equal(await page.locator('#composer').count(), 0, 'a subagent takes no messages');
    await picture(page, 'subagent-phone');
    await page.getByRole('button', { name: 'Back to who started it' }).click();
    await page.getByText('14 of 14').waitFor();
    await page.getByRole('button', { name: /^Subagents: 1/ }).click();
    await page.getByRole('dialog').getByRole('link', { name: /Check the callers/ }).waitFor();
    await picture(page, 'roster-phone');
    await page.context().close();
  });
});

describe('the way back', () => {
  const isAt = (page, hash) => page.waitForFunction((wanted) => location.hash === wanted, hash);
  const length = (page) => page.evaluate(() => history.length);

  it('is the one that one came by, and the browser has no other', async () => {
    const page = await open(browser, stage);
    await page.locator('.group.working a.pane').click();
    await page.getByRole('link', { name: /^Conversation of Check the callers/ }).click();
    await page.getByText('neither rounds').waitFor();
    const deep = await length(page);
    await page.getByRole('button', { name: 'Back to who started it' }).click();
    await isAt(page, pane('w1:p1'));
    await page.getByText('14 of 14').waitFor();
    await page.getByRole('button', { name: 'Back to the panes' }).click();
    await isAt(page, '');
    await page.locator('.group.working a.pane').waitFor();
    assert.equal(await length(page), deep, 'going back adds nothing to the history');
    await page.goForward();
    await page.goForward();
    await page.getByText('neither rounds').waitFor();
    await page.reload();
    await page.getByText('neither rounds').waitFor();
    await page.keyboard.press('u');
    await isAt(page, pane('w1:p1'));
    await page.goBack();
    await isAt(page, '');
    await page.context().close();
  });

  it('leads from an entry of a subagent to where its conversation was left', async () => {
    const page = await open(browser, stage, { hash: pane('w1:p1', '8') });
    await page.locator('#entry-8.marked').waitFor();
    await page.evaluate((hash) => (location.hash = hash), pane('w1:p1', 'sub', 'a1c0ffee'));
    await page.getByText('neither rounds').waitFor();
    await page.evaluate((hash) => (location.hash = hash), pane('w1:p1', 'sub', 'a1c0ffee', '2'));
    await page.locator('#entry-2.marked').waitFor();
    await page.getByRole('link', { name: 'ferry', exact: true }).click();
    await isAt(page, pane('w1:p1', '8'));
    await page.context().close();
  });

  it('from an address that was opened by itself leads up, and does not come back to it', async () => {
    const page = await open(browser, stage, { hash: pane('w1:p1', 'sub', 'a1c0ffee', '2') });
    await page.getByText('neither rounds').waitFor();
    const opened = await length(page);
    await page.getByRole('button', { name: 'Back to who started it' }).click();
    await isAt(page, pane('w1:p1'));
    await page.getByText('14 of 14').waitFor();
    await page.getByRole('button', { name: 'Back to the panes' }).click();
    await isAt(page, '');
    await page.locator('.group.working a.pane').waitFor();
    assert.equal(await length(page), opened);
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Back to the panes' }).click();
    await page.locator('.group.working a.pane').waitFor();
    await page.context().close();
  });
});

describe('pairing', () => {
  const admin = { authorization: `Bearer ${TOKEN}` };

  it('takes the code out of the address, and keeps the bearer in this origin', async () => {
    const offered = await fetch(`${stage.url}admin/pairing`, { method: 'POST', headers: admin });
    const { code } = await offered.json();
    const page = await open(browser, stage, { paired: '', hash: `#pair=${code}` });
    await page.getByLabel('Code').waitFor();
    assert.equal(await page.getByLabel('Code').inputValue(), code);
    assert.equal(new URL(page.url()).hash, '', 'the code does not stay in the address');
    await picture(page, 'pair-phone');
    await page.getByLabel('Name of this device').fill('a phone of the tests');
    await page.getByRole('button', { name: 'Pair this device' }).click();
    await page.locator('.pane').first().waitFor();
    const { devices } = await (await fetch(`${stage.url}admin/devices`, { headers: admin })).json();
    assert.deepEqual(devices.map(({ name, scope }) => [name, scope]), [['a phone of the tests', 'full']]);
    assert.equal(await page.evaluate(() => document.cookie), '');
    await page.reload();
    await page.locator('.pane').first().waitFor();
    // A device that is revoked is asked to pair again.
    await fetch(`${stage.url}admin/devices/revoke`, { method: 'POST', headers: { ...admin, 'content-type': 'application/json' }, body: JSON.stringify({ id: devices[0].id }) });
    await page.reload();
    await page.getByRole('button', { name: 'Pair this device' }).waitFor();
    await page.context().close();
  });

  it('says what is wrong with a code', async () => {
    const page = await open(browser, stage, { paired: '', hash: '#pair=00000000' });
    await page.getByRole('button', { name: 'Pair this device' }).click();
    await page.getByRole('alert').filter({ hasText: 'panewire pair' }).waitFor();
    await page.context().close();
  });

  it('takes the token instead', async () => {
    const page = await open(browser, stage, { paired: '' });
    await page.getByRole('button', { name: 'Use the token instead' }).click();
    await page.getByLabel('Token').fill('not-the-token');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByRole('alert').filter({ hasText: 'not the token' }).waitFor();
    await page.getByLabel('Token').fill(TOKEN);
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.locator('.pane').first().waitFor();
    await page.context().close();
  });
});

describe('everybody', () => {
  const places = [
    ['panes', ''],
    ['chat', pane('w1:p1')],
    ['blocked', pane('w1:p2')],
    ['settings', '#settings'],
    ['pair', ''],
  ];
  for (const [size, viewport] of [['narrow', NARROW], ['phone', PHONE], ['desktop', DESKTOP]]) {
    for (const scheme of ['light', 'dark']) {
      it(`can use it at ${size} size, ${scheme}: axe finds no serious fault`, async () => {
        for (const [name, hash] of places) {
          const page = await open(browser, stage, { viewport, scheme, hash, paired: name === 'pair' ? '' : 'full' });
          const ready = { panes: '.pane', chat: 'article', blocked: 'button.choice:enabled', settings: 'dl', pair: 'form' }[name];
          await page.locator(ready).first().waitFor();
          await picture(page, `${name}-${size}-${scheme}`);
          assert.deepEqual(await faults(page), [], `${name}, ${size}, ${scheme}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(over <= 0, `${name} at ${size} is ${over} px too wide`);
          await page.context().close();
        }
      });
    }
  }

  it('can have it larger, and dark', async () => {
    const page = await open(browser, stage, { hash: '#settings' });
    await page.getByRole('radio', { name: 'huge' }).check();
    await page.getByRole('radio', { name: 'dark' }).check();
    assert.deepEqual(await page.evaluate(() => ({ ...document.documentElement.dataset })), { theme: 'dark', size: 'huge' });
    await page.reload();
    assert.deepEqual(await page.evaluate(() => ({ ...document.documentElement.dataset })), { theme: 'dark', size: 'huge' });
    await page.goto(stage.url + pane('w1:p1'));
    await page.getByText('14 of 14').waitFor();
    await picture(page, 'chat-huge-dark');
    await page.context().close();
  });
});
