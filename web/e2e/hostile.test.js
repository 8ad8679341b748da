import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { DESKTOP, launch, open, pane, PHONE, picture, Stage } from './stage.js';
import { hostile, Session } from './session.js';

const stage = new Stage();
let browser;
let session;

before(async () => {
  session = hostile(new Session(stage.home, '40571e00-0000-4000-8000-000000000001', '/srv/hostile')).write();
  await stage.daemon();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

for (const [size, viewport] of [['phone', PHONE], ['desktop', DESKTOP]]) {
  it(`what is hostile stays text at ${size} size`, async () => {
    const page = await open(browser, stage, { viewport, hash: pane(`claude:${session.id}`) });
    await page.getByText('End of the hostile set.').waitFor();
    // Everything is looked at once, and every fold is opened.
    await page.keyboard.press('g');
    await page.locator('#entry-1').waitFor();
    const last = await page.locator('article').first().getAttribute('aria-setsize');
    let looked = 0;
    const elements = new Set();
    const hrefs = new Set();
    for (let seq = 1; seq <= Number(last); seq += 1) {
      const row = page.locator(`#entry-${seq}`);
      if ((await row.count()) > 0) {
        looked += 1;
        const fold = row.locator('.tool-head[aria-expanded="false"], .fold[aria-expanded="false"], .more');
        while ((await fold.count()) > 0 && !/cut/.test(await fold.first().innerText())) await fold.first().click();
        const found = await row.evaluate((element) => ({
          tags: [...element.querySelectorAll('*')].map((each) => each.tagName.toLowerCase()),
          handlers: [...element.querySelectorAll('*')].flatMap((each) => each.getAttributeNames().filter((name) => name.startsWith('on') || name === 'src' || name === 'srcdoc' || name === 'style')),
          links: [...element.querySelectorAll('a')].map((each) => [each.href, each.rel, each.referrerPolicy]),
          text: element.innerText,
        }));
        found.tags.forEach((tag) => elements.add(tag));
        assert.deepEqual(found.handlers, [], `entry ${seq}`);
        for (const [href, rel, policy] of found.links) {
          hrefs.add(href);
          if (!href.startsWith(stage.url)) assert.deepEqual([rel, policy], ['noopener noreferrer nofollow', 'no-referrer']);
        }
        assert.ok(!/[\u202a-\u202e\u2066-\u2069\u001b\u0007]/.test(found.text), `entry ${seq} turns no text around`);
        const width = await row.evaluate((element) => element.getBoundingClientRect().right - innerWidth);
        assert.ok(width <= 1, `entry ${seq} is ${width} px too wide`);
      }
      await page.keyboard.press('j');
    }
    assert.equal(looked, Number(last) - 1, 'every entry was looked at; one answer stands with its call');
    for (const tag of ['script', 'img', 'iframe', 'style', 'object', 'embed', 'form', 'link', 'details']) assert.ok(!elements.has(tag), `<${tag}> was made`);
    assert.ok([...hrefs].every((href) => /^https?:/.test(href)), [...hrefs].join(' '));
    assert.ok(hrefs.has('https://elsewhere.example/path?q=1'), 'an honest link is one');
    assert.equal(await page.evaluate(() => globalThis.__struck), undefined);
    assert.deepEqual([...page.hosts], [new URL(stage.url).host], 'nothing was loaded from anywhere');
    assert.deepEqual(page.complaints.filter((text) => /content security|trusted/i.test(text)), [], 'the policy had nothing to stop');
    assert.deepEqual(page.wrong, []);
    await picture(page, `hostile-${size}`);
    await page.context().close();
  });
}

it('the page says in its headers what it may do', async () => {
  const response = await fetch(stage.url);
  const policy = response.headers.get('content-security-policy');
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
  const html = await response.text();
  const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(html)?.[1];
  const asset = await fetch(stage.url + script, { headers: { 'accept-encoding': 'gzip, br' } });
  assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
  assert.equal(asset.headers.get('content-encoding'), 'br');
  const again = await fetch(stage.url, { headers: { 'if-none-match': response.headers.get('etag') } });
  assert.equal(again.status, 304);
  const posted = await fetch(stage.url, { method: 'POST' });
  assert.equal(posted.status, 405);
});
