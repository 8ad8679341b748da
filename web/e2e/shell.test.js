import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { after, before, it } from 'node:test';

import { launch, open, pane, Stage, TOKEN } from './stage.js';
import { long, Session } from './session.js';

const PREFIX = '/some/where/';

const stage = new Stage();
let browser;
let daemon;
let session;

before(async () => {
  session = long(new Session(stage.home, '5e110000-0000-4000-8000-000000000001', '/srv/shell'), 40).write();
  daemon = await stage.daemon();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await stage.end();
});

/** A proxy that takes a prefix off, as they do, and has an answer of its own where nobody answers. */
function proxy(ports) {
  const behind = (from) => Object.entries(ports).find(([prefix]) => from.url.startsWith(prefix));
  const server = createServer((from, to) => {
    const [prefix, port] = behind(from) ?? [];
    if (prefix === undefined) return to.writeHead(404).end('not below the prefix');
    const onward = request({ host: '127.0.0.1', port, method: from.method, path: from.url.slice(prefix.length - 1), headers: from.headers }, (answer) => {
      to.writeHead(answer.statusCode, answer.headers);
      answer.pipe(to);
    });
    onward.on('error', () => to.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>'));
    from.pipe(onward);
  });
  server.on('upgrade', (from, socket, head) => {
    const [prefix, port] = behind(from) ?? [];
    if (prefix === undefined) return socket.destroy();
    const onward = connect(port, '127.0.0.1', () => {
      const headers = from.rawHeaders.reduce((text, part, at) => text + part + (at % 2 === 0 ? ': ' : '\r\n'), '');
      onward.write(`${from.method} ${from.url.slice(prefix.length - 1)} HTTP/1.1\r\n${headers}\r\n`);
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [socket, onward]) end.on('error', () => (socket.destroy(), onward.destroy()));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

it('it works below the path of a proxy', async () => {
  const server = await proxy({ [PREFIX]: stage.port });
  try {
    const page = await open(browser, { url: `http://127.0.0.1:${server.address().port}${PREFIX}` }, { hash: pane(`claude:${session.id}`) });
    await page.locator('#entry-40').waitFor();
    await page.locator('.link-state.live').waitFor();
    session.say('Through the proxy.').append();
    await page.locator('article', { hasText: 'Through the proxy.' }).waitFor();
    await page.context().close();
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it('two daemons below one host know nothing of each other', async () => {
  const attic = new Stage();
  await attic.daemon({ token: 'the-token-of-the-attic' });
  const both = await proxy({ '/desk/': stage.port, '/attic/': attic.port });
  const host = `http://127.0.0.1:${both.address().port}`;
  const context = await browser.newContext();
  try {
    const pages = [];
    for (const [prefix, token] of [['/desk/', TOKEN], ['/attic/', 'the-token-of-the-attic']]) {
      const page = await context.newPage();
      page.bearers = new Set();
      page.on('request', (asked) => asked.headers().authorization && page.bearers.add(asked.headers().authorization));
      await page.goto(host + prefix);
      await page.getByRole('button', { name: 'Use the token instead' }).click();
      await page.getByLabel('Token').fill(token);
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.locator('.panes').waitFor();
      await page.evaluate(() => navigator.serviceWorker.ready);
      pages.push(page);
    }
    for (const page of pages) {
      await page.reload();
      await page.locator('.panes').waitFor();
    }
    assert.deepEqual(pages.map(({ bearers }) => [...bearers]), [[`Bearer ${TOKEN}`], ['Bearer the-token-of-the-attic']]);
    const caches = await pages[0].evaluate(async () => (await globalThis.caches.keys()).map((name) => name.replace(/[^-]*$/, '')).sort());
    assert.deepEqual(caches, ['panewire-/attic/-', 'panewire-/desk/-']);
  } finally {
    await context.close();
    both.closeAllConnections();
    both.close();
    await attic.end();
  }
});

it('it opens where a proxy answers that the daemon is away', async () => {
  const server = await proxy({ [PREFIX]: stage.port });
  const url = `http://127.0.0.1:${server.address().port}${PREFIX}`;
  const context = await browser.newContext();
  try {
    await context.addInitScript(([key, value]) => localStorage.setItem(key, JSON.stringify(value)), [`panewire.device:${PREFIX}`, { bearer: TOKEN, name: 'the stage', scope: 'full' }]);
    const page = await context.newPage();
    await page.goto(url + pane(`claude:${session.id}`));
    await page.locator('.link-state.live').waitFor();
    await page.evaluate(() => navigator.serviceWorker.ready);
    await stage.stop(daemon);
    // The first page of a worker is not its own yet.
    await page.goto('about:blank');
    await page.goto(url + pane(`claude:${session.id}`));
    await page.locator('.link-state.offline').waitFor();
  } finally {
    daemon = await stage.daemon();
    await context.close();
    server.closeAllConnections();
    server.close();
  }
});

it('it opens without a network, says so, and keeps no conversation', async () => {
  const context = await browser.newContext();
  await context.addInitScript((value) => localStorage.setItem('panewire.device', JSON.stringify(value)), { bearer: TOKEN, name: 'the stage', scope: 'full' });
  const page = await context.newPage();
  await page.goto(stage.url + pane(`claude:${session.id}`));
  await page.locator('.link-state.live').waitFor();
  await page.evaluate(() => navigator.serviceWorker.ready);
  const kept = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => new URL(url).pathname).sort();
  });
  assert.ok(kept.includes('/'), kept.join(' '));
  assert.ok(kept.every((path) => path === '/' || /^\/(?:assets\/[\w.-]+|icon\.svg|manifest\.webmanifest)$/.test(path)), kept.join(' '));
  const manifest = await (await fetch(`${stage.url}manifest.webmanifest`)).json();
  assert.deepEqual([manifest.start_url, manifest.display], ['./', 'standalone']);
  for (const { src } of manifest.icons) assert.equal((await fetch(stage.url + src)).status, 200, src);
  await stage.stop(daemon);
  await page.reload();
  await page.locator('.link-state.offline').waitFor();
  daemon = await stage.daemon();
  await page.locator('.link-state.live').waitFor({ timeout: 40_000 });
  await page.locator('#entry-40').waitFor();
  await context.close();
});
