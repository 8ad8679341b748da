// Writes sessions as Claude Code does: the same records, with a story of our own in them.
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A session in a file, to which an agent goes on writing. */
export class Session {
  #count = 0;
  #parent = null;
  #clock;
  #lines = [];

  constructor(home, id, cwd, began = Date.now() - 3_600_000) {
    this.id = id;
    this.cwd = cwd;
    this.#clock = began;
    this.file = join(home, '.claude/projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), `${id}.jsonl`);
    mkdirSync(dirname(this.file), { recursive: true });
  }

  /** Time passes before the next record. */
  after(seconds) {
    this.#clock += seconds * 1000;
    return this;
  }

  record(type, fields) {
    this.#count += 1;
    this.#clock += 1_200;
    const uuid = `${this.id.slice(0, 8)}-0000-4000-8000-${String(this.#count).padStart(12, '0')}`;
    this.#lines.push(
      JSON.stringify({
        parentUuid: this.#parent, isSidechain: false, userType: 'external', cwd: this.cwd, sessionId: this.id, version: '2.1.0',
        gitBranch: 'main', type, uuid, timestamp: new Date(this.#clock).toISOString(), ...fields,
      }),
    );
    this.#parent = uuid;
    return this;
  }

  raw(line) {
    this.#lines.push(line);
    return this;
  }

  user(content) {
    return this.record('user', { message: { role: 'user', content } });
  }

  says(...content) {
    return this.record('assistant', { message: { role: 'assistant', model: 'claude-model', content } });
  }

  say(text) {
    return this.says({ type: 'text', text });
  }

  think(thinking) {
    return this.says({ type: 'thinking', thinking, signature: '' });
  }

  call(id, name, input) {
    return this.says({ type: 'tool_use', id, name, input });
  }

  answer(id, content, toolUseResult, isError = false) {
    const block = { type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) };
    return this.record('user', { message: { role: 'user', content: [block] }, ...(toolUseResult && { toolUseResult }) });
  }

  system(content) {
    return this.record('system', { subtype: 'informational', content, level: 'info' });
  }

  /** What has gathered becomes the file, whatever was in it. */
  write() {
    writeFileSync(this.file, this.#taken());
    return this;
  }

  /** What has gathered is appended in one piece. */
  append() {
    appendFileSync(this.file, this.#taken());
    return this;
  }

  #taken() {
    const text = this.#lines.map((line) => `${line}\n`).join('');
    this.#lines = [];
    return text;
  }

  /** A child of this session: its meta file, and a session whose lines are the child's. */
  child(agentId, meta) {
    const directory = join(this.file.replace(/\.jsonl$/, ''), 'subagents');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `agent-${agentId}.meta.json`), JSON.stringify(meta));
    return new Child(this, join(directory, `agent-${agentId}.jsonl`), agentId, this.#clock);
  }
}

class Child extends Session {
  constructor(parent, file, agentId, began) {
    super('/nowhere-that-is-written', parent.id, parent.cwd, began);
    this.file = file;
    this.agentId = agentId;
  }

  record(type, fields) {
    return super.record(type, { ...fields, isSidechain: true, agentId: this.agentId });
  }
}

const RUST = `use std::time::Duration;

/// How long the ferry waits at the pier.
pub fn layover(tide: Tide, boats: usize) -> Duration {
    let base = match tide {
        Tide::High => 12,
        Tide::Low => 20, // the ramp is steep
    };
    Duration::from_secs(60 * (base + boats as u64 / 3))
}`;

/** A session in which everything happens that a view must show. */
export function story(session) {
  session
    .user('The timetable of the ferry is wrong at low tide: boats leave before the ramp is down. Find out why, fix it, and show me the diff.')
    .think('The timetable is made in `layover`. At low tide the ramp takes longer. I look for whoever calls it before I change anything.')
    .say("I'll look at how the layover is computed, then at the callers.")
    .call('toolu_grep', 'Grep', { pattern: 'layover', path: '/srv/ferry/src' })
    .answer('toolu_grep', 'src/pier.rs:14\nsrc/timetable.rs:88\nsrc/timetable.rs:131')
    .call('toolu_read', 'Read', { file_path: '/srv/ferry/src/pier.rs' })
    .answer('toolu_read', RUST)
    .say(
      `The cause is in \`layover\`: the **ramp time** is not part of it.\n\n\`\`\`rust\n${RUST}\n\`\`\`\n\n` +
        '### What I will change\n\n1. Add the time of the ramp at low tide.\n2. Round **up**, not down, for boats that wait.\n3. Keep `Tide::High` as it is.\n\n' +
        '| tide | before | after |\n|---|--:|--:|\n| high | 12 min | 12 min |\n| low | 20 min | 26 min |\n\n> The harbour office measured six minutes for the ramp.\n\n' +
        'See the [notes of the harbour office](https://harbour.example/notes) for where the number comes from.',
    )
    .call('toolu_edit', 'Edit', {
      file_path: '/srv/ferry/src/pier.rs',
      old_string: '        Tide::Low => 20, // the ramp is steep\n    };\n    Duration::from_secs(60 * (base + boats as u64 / 3))',
      new_string: '        Tide::Low => 20 + RAMP_MINUTES,\n    };\n    Duration::from_secs(60 * (base + boats.div_ceil(3) as u64))',
    })
    .answer('toolu_edit', 'The file /srv/ferry/src/pier.rs has been updated.', {
      filePath: '/srv/ferry/src/pier.rs',
      structuredPatch: [
        {
          oldStart: 5, oldLines: 6, newStart: 5, newLines: 6,
          lines: [
            '     let base = match tide {', '         Tide::High => 12,', '-        Tide::Low => 20, // the ramp is steep',
            '+        Tide::Low => 20 + RAMP_MINUTES,', '     };', '-    Duration::from_secs(60 * (base + boats as u64 / 3))',
            '+    Duration::from_secs(60 * (base + boats.div_ceil(3) as u64))', ' }',
          ],
        },
      ],
    })
    .call('toolu_test', 'Bash', { command: 'cargo test -p ferry --quiet', description: 'Run the tests of the ferry' })
    .answer('toolu_test', 'failed', {
      stdout: '\u001b[1mrunning 14 tests\u001b[0m\n.............\u001b[31mF\u001b[0m\n',
      stderr: "error[E0425]: cannot find value `RAMP_MINUTES` in this scope\n --> src/pier.rs:7:26\n  |\n7 |         Tide::Low => 20 + RAMP_MINUTES,\n  |                           ^^^^^^^^^^^^ not found in this scope\n",
      interrupted: false,
    }, true)
    .after(1_500)
    .system('Context was summed up to make room.')
    .user([{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGFyYm91cg==' } }, { type: 'text', text: 'This is how the pier looks at low tide. Keep that in mind.' }])
    .say('The ramp is longer than I assumed; six minutes fit. I add the constant and have somebody look over the other callers meanwhile.')
    .call('toolu_task', 'Task', { description: 'Check the callers of layover', prompt: 'Look at every caller.', subagent_type: 'Explore', run_in_background: true })
    .answer('toolu_task', [{ type: 'text', text: 'Async agent launched.' }], { isAsync: true, status: 'async_launched', agentId: 'a1c0ffee', description: 'Check the callers of layover' })
    .call('toolu_bash2', 'Bash', { command: "cat >> src/pier.rs <<'EOF'\n\n/// The ramp at low tide, as the harbour office measured it.\nconst RAMP_MINUTES: u64 = 6;\nEOF\ncargo test -p ferry --quiet", description: 'Add the constant and test again' })
    .answer('toolu_bash2', 'ok', { stdout: 'running 14 tests\n..............\ntest result: ok. 14 passed; 0 failed', stderr: '', interrupted: false })
    .user('/compact keep the numbers')
    .say('- [x] the ramp is part of the layover\n- [x] boats are rounded up\n- [ ] the printed timetable: it needs the same change, in `print.rs`\n\nTests pass: **14 of 14**.');
  const child = session.child('a1c0ffee', { agentType: 'Explore', description: 'Check the callers of layover', toolUseId: 'toolu_task', spawnDepth: 1 });
  child
    .user('Look at every caller of `layover`.')
    .say('There are two callers. I read both.')
    .call('toolu_c1', 'Read', { file_path: '/srv/ferry/src/timetable.rs' })
    .answer('toolu_c1', 'fn departures() { … }')
    .say('Both callers take the value as it is; neither rounds. Nothing else needs to change.');
  child.write();
  return session;
}

/** Many entries of one kind each, by number: message n is entry n. */
export function long(session, entries) {
  for (let n = 1; n <= entries; n += 1) {
    if (n % 5 === 1) session.user(`Question ${n}: which boat is at the pier?`);
    else session.say(`Entry ${n}. ${'The boat at pier ' + (n % 7) + ' waits for the tide. '.repeat(1 + (n % 4))}`);
  }
  return session;
}

const TALE = 'The harbour master writes down when each boat comes in, how deep it lies and who pulled it to the pier. ';

/** Many entries of every height that one can have, in an order that repeats after 97: entry n says so. */
export function varied(session, entries) {
  for (let n = 1; n <= entries; n += 1) {
    const kind = (n * 31) % 97;
    if (kind < 12) session.user(`Question ${n}: ${TALE.repeat(1 + (kind % 3))}`);
    else if (kind < 40) session.say(`Entry ${n}. ${TALE.repeat(kind % 9)}`);
    else if (kind < 52) session.say(`Entry ${n}.\n\n\`\`\`rust\n${'let depth = sound(pier)?;\n'.repeat(1 + (kind % 14))}\`\`\``);
    else if (kind < 62) session.say(`### Entry ${n}\n\n${Array.from({ length: 2 + (kind % 9) }, (_, at) => `- boat ${at} at pier ${at % 4}`).join('\n')}\n\n> ${TALE}`);
    else if (kind < 70) session.say(`Entry ${n}.\n\n| boat | pier |\n|---|---|\n${'| ferry | 4 |\n'.repeat(1 + (kind % 7))}`);
    else if (kind < 80) session.think(`Thought ${n}. ${TALE}`);
    else session.call(`toolu_${n}`, 'Bash', { command: `sound --pier ${n % 9}`, description: `Sound the depth, ${n}` });
  }
  return session;
}

/** What must stay text. */
export const HOSTILE = [
  '<img src=x onerror="window.__struck=1"><script>window.__struck=2</script><svg onload="window.__struck=3">',
  '[click me](javascript:window.__struck=4) [and me](JaVaScRiPt:window.__struck=5) [data](data:text/html,<script>1</script>) <javascript:alert(1)>',
  '![tracker](https://tracker.example/pixel.png) <iframe src="https://evil.example"></iframe> <style>body{display:none}</style>',
  '[a link](https://elsewhere.example/path?q=1) and https://bare.example/x',
  'user\u202egpj.exe\u202c and \u2066isolated\u2069 text \u001b[31mred\u001b[0m \u001b]8;;https://osc.example\u0007osc\u001b]8;;\u0007 bell\u0007',
  `${'>'.repeat(4000)} deep`,
  `${'['.repeat(3000)}${'*'.repeat(3000)}`,
  'x'.repeat(19_000),
  '<details open ontoggle=window.__struck=6><summary>s</summary></details> &lt;b&gt;&amp;&#x202e;&#0;&#xd800;',
  'مرحبا بالعالم، هذا نص من اليمين إلى اليسار مع `code` و **bold**.',
];

export function hostile(session) {
  session.user('Show me what a hostile file looks like.');
  for (const text of HOSTILE) session.say(text);
  session
    .call('toolu_h1', 'Bash', { command: 'echo "\u202etxt.exe" # <script>window.__struck=7</script>\n\u001b[2Jrm', description: '<img src=x onerror=window.__struck=8>' })
    .answer('toolu_h1', 'out', { stdout: `\u001b[2J\u001b[H<b>bold?</b>\n${'y'.repeat(9_000)}`, stderr: '', interrupted: false })
    .call('toolu_h2', '<script>window.__struck=9</script>', { '<x onload=1>': '"><img src=x onerror=window.__struck=10>' })
    .raw('{"type":"assistant", this is no JSON <script>window.__struck=11</script>')
    .user('End of the hostile set.');
  return session;
}
