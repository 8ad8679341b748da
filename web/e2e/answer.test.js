import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { DESKTOP, launch, NARROW, open, pane, picture, Stage, TOKEN } from './stage.js';
import { long, Session } from './session.js';

const stage = new Stage();
const screen = (name) => readFileSync(new URL(`screens/${name}.txt`, import.meta.url), 'utf8');
let browser;
let session;

before(async () => {
  session = long(new Session(stage.home, 'a5ce0000-0000-4000-8000-000000000001', '/srv/lighthouse'), 12).write();
  stage.pane('w1:p1', { cwd: '/srv/lighthouse', session: session.id, status: 'blocked' });
  stage.pane('w1:p2', { cwd: '/srv/quiet', status: 'idle' });
  stage.screens['w1:p1'] = screen('permission');
  stage.desk();
  await stage.herdr();
  await stage.daemon({ herdr: 'socket' });
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

describe('a question', () => {
  it('is answered by its button, with the fingerprint of what was seen', async () => {
    stage.reactions = [{ pane_id: 'w1:p1', to: '1', screen: screen('working'), status: 'working' }];
    stage.desk();
    const page = await open(browser, stage, { hash: pane('w1:p1') });
    await page.getByRole('heading', { name: 'Do you want to proceed?' }).waitFor();
    assert.deepEqual(await page.locator('button.choice').evaluateAll((all) => all.map((each) => each.innerText.replaceAll('\n', ' ').trim())), [
      '1 Yes', "2 Yes, and don't ask again for: make rotate *", '3 No, and tell Claude what to do differently (esc)',
    ]);
    assert.match(await page.locator('.detail').innerText(), /make rotate SPEED=slow/);
    await picture(page, 'question-phone');
    const card = await (await fetch(`${stage.url}agent-state?pane=w1:p1`, { headers: { authorization: `Bearer ${TOKEN}` } })).json();
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.locator('button.choice:enabled').first().click();
    assert.deepEqual((await sent).postDataJSON(), { pane: 'w1:p1', text: '1\n', question: card.blocked.fingerprint });
    await page.locator('.state.working').waitFor();
    await page.locator('.question').waitFor({ state: 'detached' });
    assert.deepEqual(stage.typed(), [{ pane_id: 'w1:p1', bytes: '1' }], 'the agent took the digit; no Enter came behind it');
    await page.context().close();
  });

  it('that is another one by now is not answered, and the new one is shown', async () => {
    stage.reactions = [];
    stage.desk();
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p1') });
    await page.locator('button.choice:enabled').first().waitFor();
    // Cards stand still, as on a phone whose network is slow.
    await page.route('**/agent-state?*', () => undefined);
    stage.screens['w1:p1'] = screen('permission').replace('make rotate SPEED=slow', 'rm -rf /srv/lighthouse');
    stage.desk();
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.locator('button.choice:enabled').first().click();
    assert.equal((await answered).status(), 409);
    assert.deepEqual(stage.typed(), []);
    await page.getByRole('alert').filter({ hasText: /another question by now/ }).waitFor();
    await page.unroute('**/agent-state?*');
    await page.reload();
    await page.locator('.detail').filter({ hasText: 'rm -rf /srv/lighthouse' }).waitFor();
    await page.context().close();
  });
});

describe('words', () => {
  it('are typed, and wait until the agent has taken them', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p2') });
    const sent = page.waitForRequest((request) => request.method() === 'POST');
    await page.getByPlaceholder('Message the agent').fill('Turn the lamp once more, please.');
    await page.keyboard.press('Enter');
    assert.deepEqual((await sent).postDataJSON(), { pane: 'w1:p2', text: 'Turn the lamp once more, please.\n' });
    assert.equal((await (await sent).response()).status(), 200);
    assert.deepEqual(stage.typed().map(({ bytes }) => bytes), ['Turn the lamp once more, please.', '\r']);
    await page.locator('.sent').filter({ hasText: 'Turn the lamp once more' }).waitFor();
    assert.equal(await page.getByPlaceholder('Message the agent').inputValue(), '');
    await page.context().close();
  });
});

describe('words that nobody answered', () => {
  it('are kept, and may have been taken: that is said', async () => {
    const page = await open(browser, stage, { viewport: DESKTOP, hash: pane('w1:p2') });
    await page.route('**/send', (route) => route.abort());
    await page.getByPlaceholder('Message the agent').fill('Is the lamp lit?');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'look before you try again' }).waitFor();
    assert.equal(await page.getByPlaceholder('Message the agent').inputValue(), 'Is the lamp lit?');
    assert.equal(await page.locator('.sent').count(), 0);
    await page.context().close();
  });
});

describe('the permission mode', () => {
  it('is told, leaves room for words on a phone, and that it stayed is said', async () => {
    const line = '─'.repeat(60);
    stage.screens['w1:p2'] = `⏺ Ready.\n\n${line}\n❯ \n${line}\n  ⏵⏵ accept edits on (shift+tab to cycle)\n`;
    stage.desk();
    const page = await open(browser, stage, { viewport: NARROW, hash: pane('w1:p2') });
    const mode = page.getByRole('button', { name: /^Permission mode: accepts edits/ });
    await mode.waitFor();
    assert.ok(await page.locator('#composer').evaluate((area) => area.clientWidth > innerWidth / 2));
    await mode.click();
    await page.getByRole('alert').filter({ hasText: 'did not change its mode' }).waitFor();
    assert.deepEqual(stage.typed().map(({ bytes }) => bytes), ['\u001b[Z']);
    await picture(page, 'mode-phone');
    await page.context().close();
  });
});

describe('who may not answer', () => {
  it('is told why: a device that may only read', async () => {
    const offered = await fetch(`${stage.url}admin/pairing`, {
      method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }, body: JSON.stringify({ scope: 'read' }),
    });
    const { code } = await offered.json();
    const page = await open(browser, stage, { paired: '', hash: `#pair=${code}` });
    await page.getByRole('button', { name: 'Pair this device' }).click();
    await page.locator('.pane.blocked').click();
    await page.getByText('This device may only read.').waitFor();
    await page.locator('button.choice').first().waitFor();
    assert.equal(await page.locator('.dock :enabled').count(), 0);
    assert.equal(await page.locator('#composer').getAttribute('aria-describedby'), 'bar-reason');
    await picture(page, 'read-only-phone');
    await page.context().close();
  });

  it('is told why: a session outside herdr', async () => {
    const page = await open(browser, stage, { hash: pane('claude:latest') });
    await page.getByText(/outside herdr/).waitFor();
    assert.equal(await page.locator('.dock :enabled').count(), 0);
    assert.equal(await page.locator('#composer').getAttribute('aria-describedby'), 'bar-reason');
    await picture(page, 'standalone-phone');
    await page.context().close();
  });
});
