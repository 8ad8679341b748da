/** Below the conversation: the question that the agent waits on, and a place to write. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import { code as harmless, prose } from '../text';
import { post, Refused, said, Unreachable } from '../wire/api';
import type { Blocked, Card, Choice, Done } from '../wire/frames';
import { Icon } from './icon';

/** Why this device cannot answer here; `undefined` if it can. */
export type Bar = string | undefined;

interface Props {
  readonly pane: string;
  readonly card: Card | undefined;
  readonly bar: Bar;
  /** What was sent and is not in the conversation yet. */
  readonly waiting: readonly string[];
  readonly onSent: (text: string) => void;
  readonly onActed: () => void;
}

export function Dock({ pane, card, bar, waiting, onSent, onActed }: Props): JSX.Element {
  const [problem, tell] = useState('');
  const [busy, setBusy] = useState(false);
  const [keys, showKeys] = useState(false);
  const blocked = card?.blocked;
  const isRiddle = card?.agent_status === 'blocked' && !blocked;

  /** One thing at a time: two answers to one question are one too many. */
  const act = async (path: string, body: Record<string, unknown>): Promise<boolean> => {
    if (busy) return false;
    setBusy(true);
    tell('');
    try {
      const done = await post<Done>(path, { pane, ...body });
      if (done.applied === false) tell(done.reason ?? 'The agent did not take it.');
      if (done.cycled === false) tell('The agent did not change its mode. Try again when it waits for you.');
      return true;
    } catch (error) {
      tell(explained(error));
      return false;
    } finally {
      setBusy(false);
      onActed();
    }
  };
  const question = blocked ? { question: blocked.fingerprint } : {};
  const press = (key: string) => act('send', { key, ...question });
  // Options without numbers are counted in their order; the daemon knows the keys that lead to each.
  const choose = (choice: Choice, at: number) =>
    choice.index === 0 && choice.key !== undefined ? press(choice.key) : act('send', { text: `${choice.index || at + 1}\n`, ...question });

  return (
    <footer class="dock">
      {blocked && <Question blocked={blocked} card={card} disabled={bar !== undefined || busy} onChoose={choose} />}
      {isRiddle && card && <Riddle card={card} />}
      {(keys || isRiddle || blocked?.options.some(({ checked }) => checked !== undefined)) && bar === undefined && <KeyPad disabled={busy} onPress={press} />}
      {waiting.map((text, at) => <p key={at} class="sent" dir="auto"><Icon name="send" />{prose(text)}</p>)}
      <p class="problem" role="alert">{problem}</p>
      {bar !== undefined && <p id="bar-reason" class="bar-reason"><Icon name="alert" /><span>{bar}</span></p>}
      <Composer
        key={pane}
        pane={pane}
        barred={bar !== undefined}
        busy={busy}
        placeholder={blocked ? 'Answer in words' : 'Message the agent'}
        before={
          <>
            <button type="button" class="quiet square" disabled={bar !== undefined} aria-expanded={keys} aria-label="Keys" title="Keys" onClick={() => showKeys(!keys)}><Icon name="keys" /></button>
            {card?.permission_mode !== undefined && (
              <button type="button" class={`mode ${modeClass(card.permission_mode)}`} disabled={bar !== undefined || busy} title="Next permission mode" aria-label={`Permission mode: ${modeName(card.permission_mode)}. Press for the next one.`} onClick={() => void act('agent-mode/cycle', {})}>
                {modeName(card.permission_mode)}
              </button>
            )}
          </>
        }
        onSend={async (text) => {
          const isTaken = await act('send', { text: `${text}\n`, ...question });
          if (isTaken) onSent(text);
          return isTaken;
        }}
      />
    </footer>
  );
}

function explained(error: unknown): string {
  if (error instanceof Refused && error.status === 404 && error.text.startsWith('no such endpoint')) return 'This daemon cannot answer agents.';
  // The words are still there to be sent again; they must not be typed twice.
  if (error instanceof Unreachable) return 'The daemon did not answer. It may have been taken all the same: look before you try again.';
  return said(error);
}

interface QuestionProps {
  readonly blocked: Blocked;
  readonly card: Card;
  readonly disabled: boolean;
  readonly onChoose: (choice: Choice, at: number) => Promise<boolean>;
}

const CATEGORIES: Readonly<Record<string, string>> = {
  permission: 'Permission',
  plan: 'Plan',
  question: 'Question',
  trust: 'Trust',
};

function Question({ blocked, card, disabled, onChoose }: QuestionProps): JSX.Element {
  // Another question at the same place must not be answered by the finger that was on its way to the first.
  const [settled, settle] = useState(false);
  useEffect(() => {
    settle(false);
    const timer = setTimeout(() => settle(true), 400);
    return () => clearTimeout(timer);
  }, [blocked.fingerprint]);
  const detail = card.detail === blocked.question ? '' : card.detail;
  return (
    <section class="question" aria-labelledby="question" aria-live="assertive">
      <p class="category">{CATEGORIES[blocked.category ?? ''] ?? 'The agent waits'}</p>
      {detail !== '' && <pre class="detail" tabIndex={0} role="group" aria-label="What it is about" dir="auto">{harmless(detail)}</pre>}
      <h2 id="question" dir="auto">{harmless(blocked.question || card.headline)}</h2>
      <div class="choices">
        {blocked.options.map((choice, at) => (
          <button
            key={`${blocked.fingerprint}/${at}`}
            type="button"
            class={`choice${choice.selected ? ' default' : ''}`}
            disabled={disabled || !settled}
            aria-pressed={choice.checked}
            onClick={() => void onChoose(choice, at)}
          >
            <span class="choice-number" aria-hidden="true">{choice.checked === undefined ? choice.index || choice.key || at + 1 : choice.checked ? '☑' : '☐'}</span>
            <span class="choice-text" dir="auto">
              <span>{harmless(choice.label)}</span>
              {choice.description && <small>{harmless(choice.description)}</small>}
            </span>
          </button>
        ))}
      </div>
    </section>
  );
}

function Riddle({ card }: { readonly card: Card }): JSX.Element {
  return (
    <section class="question" aria-label="The agent waits">
      <p class="category">It waits, and what for could not be read. This is its terminal:</p>
      <pre class="detail" tabIndex={0} role="group" aria-label="Terminal" dir="ltr">{harmless((card.transcript ?? []).join('\n'))}</pre>
    </section>
  );
}

const PAD: readonly (readonly [string, string, string])[] = [
  ['esc', 'Esc', 'Escape'],
  ['Tab', 'Tab', 'Tab'],
  ['Up', '↑', 'Up'],
  ['Down', '↓', 'Down'],
  ['Left', '←', 'Left'],
  ['Right', '→', 'Right'],
  ['Enter', '⏎', 'Enter'],
];

function KeyPad({ disabled, onPress }: { readonly disabled: boolean; readonly onPress: (key: string) => Promise<boolean> }): JSX.Element {
  return (
    <div class="pad" role="group" aria-label="Keys">
      {PAD.map(([key, sign, name]) => <button key={key} type="button" disabled={disabled} aria-label={name} onClick={() => void onPress(key)}>{sign}</button>)}
    </div>
  );
}

const MODES: Readonly<Record<string, string>> = {
  default: 'asks first',
  acceptEdits: 'accepts edits',
  plan: 'plans',
  auto: 'auto',
  bypassPermissions: 'asks nothing',
};

const modeName = (mode: string): string => MODES[mode] ?? harmless(mode);
const modeClass = (mode: string): string => (mode === 'bypassPermissions' ? 'danger' : mode === 'plan' ? 'plan' : '');

/** What was begun and not sent, by pane, for as long as the page lives: who goes back to the list to look finds it again. */
const drafts = new Map<string, string>();

interface ComposerProps {
  readonly pane: string;
  /** Nothing can be written here; why stands above. */
  readonly barred: boolean;
  readonly busy: boolean;
  readonly placeholder: string;
  readonly before: JSX.Element;
  readonly onSend: (text: string) => Promise<boolean>;
}

function Composer({ pane, barred, busy, placeholder, before, onSend }: ComposerProps): JSX.Element {
  const [text, setText] = useState(drafts.get(pane) ?? '');
  const write = (next: string) => {
    if (next === '') drafts.delete(pane);
    else drafts.set(pane, next);
    setText(next);
  };
  const area = useRef<HTMLTextAreaElement>(null);
  const send = async () => {
    const trimmed = text.trim();
    if (trimmed === '' || barred || busy) return;
    if (await onSend(trimmed)) write('');
    area.current?.focus();
  };
  useEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = 'auto';
    // Its border is none of what scrolls.
    element.style.height = `${Math.min(element.scrollHeight + element.offsetHeight - element.clientHeight, 200)}px`;
  }, [text]);
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); void send(); }}>
      {before}
      <textarea
        id="composer"
        ref={area}
        rows={1}
        dir="auto"
        value={text}
        disabled={barred}
        placeholder={placeholder}
        aria-label={placeholder}
        aria-describedby={barred ? 'bar-reason' : undefined}
        enterkeyhint="send"
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          // With a finger, Enter is a new line; the button sends.
          const sends = event.key === 'Enter' && !event.shiftKey && !event.isComposing && !matchMedia('(pointer: coarse)').matches;
          if (!sends) return;
          event.preventDefault();
          void send();
        }}
      />
      <button type="submit" class="primary square" disabled={barred || busy || text.trim() === ''} aria-label="Send"><Icon name="send" /></button>
    </form>
  );
}
