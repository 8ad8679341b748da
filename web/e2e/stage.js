// The daemon itself, a herdr that is none, and a browser, for one test file.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import Ajv2020 from 'ajv/dist/2020.js';
import { chromium } from 'playwright-core';

const root = fileURLToPath(new URL('../../', import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');
const program = process.env.PANEWIRE_BIN ?? join(target, 'debug/panewire');
const herdrProgram = process.env.PANEWIRE_FAKE_HERDR_BIN ?? join(target, 'debug/panewire-fake-herdr');

export const TOKEN = 'the-token-of-the-stage';
export const RESULTS = process.env.PANEWIRE_WEB_RESULTS ?? fileURLToPath(new URL('results/', import.meta.url));
export const PHONE = { width: 390, height: 844 };
export const NARROW = { width: 360, height: 640 };
export const DESKTOP = { width: 1440, height: 900 };

const schema = JSON.parse(readFileSync(new URL('../wire.schema.json', import.meta.url), 'utf8'));
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(schema, 'wire');

/** What is wrong with a value of the wire, or `null`. */
export function against(definition, value) {
  const check = ajv.getSchema(`wire#/$defs/${definition}`);
  return check(value) ? null : ajv.errorsText(check.errors);
}

export class Stage {
  #processes = new Set();

  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'panewire-web-'));
    this.home = join(this.directory, 'home');
    this.state = join(this.directory, 'state');
    this.socket = join(this.directory, 'herdr.sock');
    this.bin = join(this.directory, 'bin');
    this.port = 0;
    mkdirSync(this.home);
    mkdirSync(this.bin);
    symlinkSync(herdrProgram, join(this.bin, 'herdr'));
    this.panes = [];
    this.screens = {};
    this.reactions = [];
    this.desk();
  }

  /** Says what herdr knows; what was typed before is forgotten. */
  desk() {
    const file = join(this.bin, 'herdr.json');
    writeFileSync(`${file}.new`, JSON.stringify({ panes: this.panes, screens: this.screens, reactions: this.reactions }));
    renameSync(`${file}.new`, file);
  }

  /** What was typed into the panes since then. */
  typed() {
    return JSON.parse(readFileSync(join(this.bin, 'herdr.json'), 'utf8')).typed ?? [];
  }

  pane(id, { cwd, session, status = 'idle', title, agent = 'claude' }) {
    const [workspace] = id.split(':');
    this.panes.push({
      terminal_id: `term_${id.replace(':', '_')}`, agent, agent_status: status, workspace_id: workspace, tab_id: `${workspace}:t1`, pane_id: id, focused: false,
      state_change_seq: 4, cwd, foreground_cwd: cwd, revision: 1, ...(title && { terminal_title: `✳ ${title}`, terminal_title_stripped: title }),
      ...(session && { agent_session: { source: 'herdr:claude', agent, kind: 'id', value: session } }),
    });
    this.desk();
  }

  async herdr() {
    await this.#start(herdrProgram, ['serve', this.socket], { PANEWIRE_FAKE_HERDR: join(this.bin, 'herdr.json') });
  }

  /** Starts the daemon; a second time on the same port. */
  async daemon({ herdr = 'none', args = [], token = TOKEN } = {}) {
    this.port ||= await freePort();
    const places = ['--home', this.home, '--state-dir', this.state, '--log', 'warn'];
    const asks = herdr === 'none' ? ['--herdr', 'none'] : ['--herdr', herdr, '--herdr-socket', this.socket, '--herdr-bin', join(this.bin, 'herdr')];
    const child = await this.#start(program, ['serve', '--listen', `127.0.0.1:${this.port}`, ...places, ...asks, ...args], { PANEWIRE_TOKEN: token }, /^listening (\S+)/m);
    this.url = `http://127.0.0.1:${this.port}/`;
    return child;
  }

  #start(command, args, env, ready) {
    const child = spawn(command, args, { env: { ...process.env, ...env, HOME: this.home }, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#processes.add(child);
    child.on('exit', () => this.#processes.delete(child));
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      if (!ready) return resolve(child);
      let said = '';
      child.stdout.on('data', (data) => {
        said += data;
        if (ready.test(said)) resolve(child);
      });
      child.on('exit', (code) => reject(new Error(`${command} ended with ${code} before it was ready: ${said}`)));
    });
  }

  async stop(child) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }

  async end() {
    await Promise.all([...this.#processes].map((child) => this.stop(child)));
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** A page of a device, which knows what it asked for, what was wrong on the wire, and what its console said. */
export async function open(browser, stage, { viewport = PHONE, paired = 'full', hash = '', scheme = 'light' } = {}) {
  const touch = viewport.width < 600;
  const context = await browser.newContext({ viewport, colorScheme: scheme, hasTouch: touch, isMobile: touch, deviceScaleFactor: touch ? 2 : 1, serviceWorkers: 'block' });
  if (paired) {
    const device = { bearer: TOKEN, name: 'the stage', scope: paired, server: 'stage' };
    await context.addInitScript((value) => {
      const key = location.pathname === '/' ? 'panewire.device' : `panewire.device:${location.pathname}`;
      if (!localStorage.getItem(key)) localStorage.setItem(key, JSON.stringify(value));
    }, device);
  }
  const page = await context.newPage();
  page.hosts = new Set();
  page.wrong = [];
  page.complaints = [];
  page.frames = 0;
  page.on('request', (request) => page.hosts.add(new URL(request.url()).host));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(String(error)));
  page.on('websocket', (socket) => {
    if (!socket.url().includes('/agent-transcript')) return;
    socket.on('framereceived', ({ payload }) => {
      page.frames += 1;
      const wrong = against('Frame', JSON.parse(payload));
      if (wrong) page.wrong.push(`${wrong}: ${String(payload).slice(0, 300)}`);
    });
  });
  await page.goto(stage.url + hash);
  return page;
}

/** A picture for people to look at. */
export async function picture(page, name) {
  mkdirSync(RESULTS, { recursive: true });
  await page.screenshot({ path: join(RESULTS, `${name}.png`), animations: 'disabled' });
}

export const pane = (name, ...more) => `#pane/${[name, ...more].map(encodeURIComponent).join('/')}`;
