/** A call of a tool and its answer, as one card. */
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

import { get, said } from '../wire/api';
import type { Entry, Subagent, ToolCall, ToolResult } from '../wire/frames';
import { code as harmless, firstLine, head } from '../text';
import { age, millis, span, wholeTime } from '../time';
import { Highlighted } from './code';
import { CopyButton } from './copy';
import { counts, Diff, parseDiff } from './diff';
import { Icon, type IconName } from './icon';
import type { Place } from './place';

const KINDS: readonly (readonly [RegExp, IconName])[] = [
  [/^(?:bash|shell|exec|local_shell|terminal|kill|write_stdin)/i, 'terminal'],
  [/^(?:edit|write|multiedit|notebookedit|apply_patch|patch)/i, 'edit'],
  [/^(?:read|notebookread|view)/i, 'file'],
  [/^(?:grep|glob|ls|find|search|toolsearch)/i, 'search'],
  [/web|fetch|browser/i, 'globe'],
  [/^(?:task|agent|spawn)/i, 'agents'],
  [/todo|plan/i, 'list'],
];

export function toolIcon(name: string): IconName {
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'tool';
}

/** Which cards a reader opened or closed, for as long as the page lives: rows come and go as one scrolls. */
const folds = new Map<string, boolean>();

/** `isSought`: the reader looks for what is in it, so it opens. */
export function useFold(key: string, initially: boolean, isSought: boolean): [boolean, () => void] {
  const [open, set] = useState(folds.get(key) ?? initially);
  useLayoutEffect(() => {
    if (!isSought) return;
    folds.set(key, true);
    set(true);
  }, [key, isSought]);
  const toggle = () => {
    folds.set(key, !open);
    set(!open);
  };
  return [open, toggle];
}

export interface ToolProps {
  readonly entry: Entry;
  readonly call: ToolCall;
  readonly answer: Entry | undefined;
  readonly child: Subagent | undefined;
  readonly place: Place;
  readonly isSought: boolean;
}

export function ToolCard({ entry, call, answer, child, place, isSought }: ToolProps): JSX.Element {
  const result = answer?.result;
  const diff = result?.diff ?? call.diff;
  const failed = result?.ok === false;
  const [open, toggle] = useFold(`${place.key}/${entry.seq}`, diff !== undefined || failed, isSought);
  const label = harmless(call.title ?? call.name);
  const about = summary(call);
  const changes = diff === undefined ? undefined : counts(parseDiff(diff));
  const state = result === undefined ? 'pending' : failed ? 'failed' : 'ok';
  return (
    <section class={`tool ${state}`} aria-label={`${label}, ${STATES[state]}`}>
      <button type="button" class="tool-head" aria-expanded={open} onClick={toggle}>
        <Icon name={toolIcon(call.name)} />
        <span class="tool-name" dir="ltr">{label}</span>
        <span class="tool-about" dir="auto">{about}</span>
        {changes && <span class="tool-counts" aria-hidden="true"><ins>+{changes.added}</ins> <del>−{changes.removed}</del></span>}
        <Mark state={state} />
      </button>
      {child && <ChildLink child={child} place={place} />}
      {open && <Body entry={entry} call={call} answer={answer} diff={diff} place={place} />}
    </section>
  );
}

/** An answer whose call is not loaded, or never was. */
export function LoneResult({ entry, result, place, isSought }: { readonly entry: Entry; readonly result: ToolResult; readonly place: Place; readonly isSought: boolean }): JSX.Element {
  const state = result.ok ? 'ok' : 'failed';
  const [open, toggle] = useFold(`${place.key}/${entry.seq}`, !result.ok, isSought);
  return (
    <section class={`tool ${state}`} aria-label={`Result, ${STATES[state]}`}>
      <button type="button" class="tool-head" aria-expanded={open} onClick={toggle}>
        <Icon name="tool" />
        <span class="tool-name">Result</span>
        <span class="tool-about" dir="auto">{firstLine(result.output_summary ?? '')}</span>
        <Mark state={state} />
      </button>
      {open && (
        <div class="tool-body">
          {result.diff !== undefined && <Diff diff={result.diff} />}
          <Output entry={entry} place={place} text={result.output_summary ?? ''} failed={!result.ok} truncated={result.truncated === true} />
        </div>
      )}
    </section>
  );
}

const STATES = { pending: 'no result yet', ok: 'done', failed: 'failed' } as const;

function Mark({ state }: { readonly state: keyof typeof STATES }): JSX.Element {
  if (state === 'pending') return <span class="waiting" aria-hidden="true" />;
  return <span class={`mark ${state}`}><Icon name={state === 'ok' ? 'done' : 'failed'} /></span>;
}

/** What a call is about, in one line. */
function summary(call: ToolCall): string {
  const text = call.subtitle ?? call.file ?? call.command ?? call.input_summary ?? '';
  return harmless(firstLine(text, 200));
}

function Body({ entry, call, answer, diff, place }: Omit<ToolProps, 'child' | 'isSought'> & { readonly diff: string | undefined }): JSX.Element {
  const result = answer?.result;
  const began = millis(entry.ts);
  const ended = millis(answer?.ts);
  const isSaid = call.subtitle !== undefined || call.file !== undefined || call.command !== undefined;
  return (
    <div class="tool-body">
      {call.command !== undefined && <Command text={call.command} cut={call.command_truncated === true} entry={entry} place={place} />}
      {call.command === undefined && call.input_summary !== undefined && (isSaid ? call.input_summary !== call.file : true) && (
        <p class="input" dir="ltr">{harmless(call.input_summary)}</p>
      )}
      {diff !== undefined && <Diff key={diff} diff={diff} />}
      {answer && result && (
        <Output entry={answer} place={place} text={result.output_summary ?? ''} failed={!result.ok} truncated={result.truncated === true} quiet={diff !== undefined} />
      )}
      <p class="meta">
        {began !== undefined && <time dateTime={entry.ts} title={wholeTime(began)}>{age(began)}</time>}
        {began !== undefined && ended !== undefined && ended - began > 999 && <span>took {span(ended - began)}</span>}
        <CopyButton icon="link" label="Copy link to this entry" text={() => place.linkTo(entry.seq)} />
      </p>
    </div>
  );
}

function Command({ text, cut, entry, place }: { readonly text: string; readonly cut: boolean; readonly entry: Entry; readonly place: Place }): JSX.Element {
  const [whole, set] = useState(false);
  const shown = harmless(text);
  const begun = head(shown, 12, 1_500);
  return (
    <div class="command">
      <pre dir="ltr" tabIndex={0} role="group" aria-label="Command"><code><Highlighted text={whole ? shown : begun.text} language="bash" /></code></pre>
      <CopyButton text={() => text} label="Copy command" />
      {begun.cut && !whole && <button type="button" class="more" onClick={() => set(true)}>Show all of the command</button>}
      {cut && (whole || !begun.cut) && <Whole entry={entry} place={place} of={(full) => full.tool?.command ?? ''} what="command" />}
    </div>
  );
}

interface OutputProps {
  readonly entry: Entry;
  readonly place: Place;
  readonly text: string;
  readonly failed: boolean;
  readonly truncated: boolean;
  readonly quiet?: boolean;
}

function Output({ entry, place, text, failed, truncated, quiet = false }: OutputProps): JSX.Element | null {
  const [whole, set] = useState(false);
  const shown = harmless(text);
  if (shown.trim() === '') return quiet || truncated ? null : <p class="nothing">{failed ? 'It failed and printed nothing.' : 'It printed nothing.'}</p>;
  const begun = head(shown, failed ? 24 : 10, 1_600);
  return (
    <div class={`output${failed ? ' bad' : ''}`}>
      <pre dir="ltr" tabIndex={0} role="group" aria-label="Output">{whole ? shown : begun.text}</pre>
      <CopyButton text={() => text} label="Copy output" />
      {begun.cut && !whole && <button type="button" class="more" onClick={() => set(true)}>{lines(shown.slice(begun.text.length))} more lines</button>}
      {truncated && (whole || !begun.cut) && <Whole entry={entry} place={place} of={(full) => full.result?.output_summary ?? ''} what="output" />}
    </div>
  );
}

const lines = (text: string): number => Math.max(1, text.split('\n').length - 1);

/** What the stream cut, as the agent wrote it. A browser is not given more than it can draw. */
const DRAWN_CHARACTERS = 300_000;

export function Whole({ entry, place, of, what }: { readonly entry: Entry; readonly place: Place; readonly of: (full: Entry) => string; readonly what: string }): JSX.Element {
  const [state, set] = useState<{ readonly text?: string; readonly error?: string; readonly busy?: boolean }>({});
  const fetchIt = () => {
    set({ busy: true });
    get<Entry>('agent-transcript/entry', { pane: place.fixedPane, seq: entry.seq, subagent: place.subagent }).then(
      (full) => set({ text: harmless(of(full)) }),
      (error: unknown) => set({ error: said(error) }),
    );
  };
  if (state.text !== undefined) {
    const text = state.text;
    return (
      <div class="whole">
        <pre dir="ltr" tabIndex={0} role="group" aria-label={`The whole ${what}`}>{text.slice(0, DRAWN_CHARACTERS)}</pre>
        {text.length > DRAWN_CHARACTERS && <p class="nothing">{text.length - DRAWN_CHARACTERS} more characters: copy it to see them.</p>}
        <CopyButton text={() => text} label={`Copy the whole ${what}`} />
      </div>
    );
  }
  return (
    <p class="cut">
      <span role="status">{state.error ?? ''}</span>
      <button type="button" class="more" disabled={state.busy} onClick={fetchIt}>{state.busy ? 'Loading…' : `This was cut: load the whole ${what}`}</button>
    </p>
  );
}

export function ChildLink({ child, place }: { readonly child: Subagent; readonly place: Place }): JSX.Element {
  const told = [childState(child)];
  if (child.entries !== undefined) told.push(`${child.entries} entries`);
  return (
    <a class={`child ${child.done ? 'ended' : 'running'}`} href={place.childHref(child.agent_id)}>
      <span class="dot" aria-hidden="true" />
      <span class="unseen">Conversation of {harmless(child.description || 'a subagent')}: </span>
      <span class="child-name" dir="auto">{harmless(child.agent_type || 'Subagent')}</span>
      <span class="child-state">{told.map((part, at) => <span key={at}>{part}</span>)}</span>
      <Icon name="right" />
    </a>
  );
}

export function childState(child: Subagent): string {
  if (child.done) return 'done';
  if (child.running_for_ms !== undefined) return `running for ${span(child.running_for_ms)}`;
  return child.last_activity_ts === undefined ? 'running' : `running, active ${age(child.last_activity_ts)}`;
}
