/** One conversation: live, whole, and with a way to answer. */
import type { JSX } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import { isTyping, Keys } from '../parts/keys';
import { copyText } from '../parts/copy';
import { Dock } from '../parts/dock';
import { Icon } from '../parts/icon';
import { LinkState } from '../parts/linkstate';
import { List, type ListHandle } from '../parts/list';
import { MovedNotice } from '../parts/moved';
import { placeOf } from '../parts/place';
import { Roster } from '../parts/roster';
import { Search } from '../parts/search';
import { Sheet } from '../parts/sheet';
import { shownTitle } from '../parts/title';
import { hashOf, isStandalone, paneName, up, type Route } from '../route';
import { code as harmless, firstLine } from '../text';
import { useCard } from '../wire/card';
import type { Change, Moved, Run } from '../wire/conversation';
import { device } from '../wire/device';
import { listing, refresh, statusOf } from '../wire/panes';
import { Stream, type Link } from '../wire/stream';
import { STATUS_WORDS } from './panes';

interface Props {
  readonly pane: string;
  readonly subagent: string | undefined;
  readonly seq: number | undefined;
}

const BURST_MS = 100;

type Over = 'nothing' | 'roster' | 'keys';

export function PanePage({ pane, subagent, seq }: Props): JSX.Element {
  const list = useRef<ListHandle>(null);
  const stream = useRef<Stream>();
  const burst = useRef<ReturnType<typeof setTimeout>>();
  const [link, setLink] = useState<Link>({ kind: 'connecting' });
  const [version, bump] = useState(0);
  const [marked, mark] = useState<number | undefined>();
  const [wanted, want] = useState(seq);
  /** The entry around which a page was asked for. */
  const sought = useRef<number>();
  /** An entry that was asked for and is not there. */
  const [missed, miss] = useState<number | undefined>();
  /** The last move to another session that was read. */
  const [read, markRead] = useState<Moved | undefined>();
  const [searching, search] = useState(false);
  const [over, open] = useState<Over>('nothing');
  const [waiting, setWaiting] = useState<readonly Sent[]>([]);
  const [spoken, speak] = useState('');

  const changed = useCallback((change: Change) => {
    list.current?.changed(change);
    if (change !== 'appended') return bump((count) => count + 1);
    // A burst is one change, and its last words are read out.
    if (burst.current !== undefined) return;
    burst.current = setTimeout(() => {
      burst.current = undefined;
      bump((count) => count + 1);
      const last = stream.current?.conversation.last;
      if (last?.kind === 'message' && last.role === 'assistant') speak(firstLine(last.text ?? '', 300));
    }, BURST_MS);
  }, []);

  if (!stream.current) stream.current = new Stream(pane, subagent, { changed, linked: setLink });
  useEffect(
    () => () => {
      stream.current?.close();
      clearTimeout(burst.current);
    },
    [],
  );
  // Whoever comes by an address has not seen the list, which knows what this pane is called.
  useEffect(() => void (listing.value ?? refresh()), []);
  useEffect(() => {
    want(seq);
    miss(undefined);
  }, [seq]);

  const { conversation } = stream.current;
  const place = placeOf(pane, subagent, conversation.agentKind, conversation.session);
  const isHerdrs = !isStandalone(pane);
  const { card, isGone, look } = useCard(pane, isHerdrs && subagent === undefined, `${conversation.newest}/${conversation.status ?? ''}`);
  const row = listing.value?.panes.find((each) => each.pane === pane);
  const child = subagent === undefined ? undefined : conversation.roster.find((each) => each.agent_id === subagent);
  const running = conversation.roster.filter((each) => !each.done).length;

  // An entry that was asked for by its address, or found: the page around it is loaded, however far it is.
  useEffect(() => {
    if (wanted === undefined || !conversation.isOpen || conversation.newest === 0) return;
    if (conversation.at(wanted)) {
      const row = conversation.rowOf(wanted);
      mark(row);
      list.current?.show(row);
    } else if (conversation.asked) {
      return;
    } else if (sought.current !== wanted && stream.current?.loadAround(wanted)) {
      // Once: where the page comes and the entry is not in it, there is none.
      sought.current = wanted;
      return bump((count) => count + 1);
    } else if (link.kind !== 'live') {
      return;
    } else {
      miss(wanted);
    }
    sought.current = undefined;
    want(undefined);
  }, [wanted, version, link.kind]);

  // What was sent is in the conversation as soon as the agent has taken it.
  useEffect(() => {
    setWaiting((sent) => {
      const { tail } = conversation;
      const left = sent.filter(({ text, after }) => !tail.slice(Math.max(0, after - (tail[0]?.seq ?? 0))).some((entry) => entry.role === 'user' && entry.text?.trim() === text));
      return left.length === sent.length ? sent : left;
    });
  }, [version]);

  const loadMore = useCallback((run: Run, end: 'before' | 'behind', large = false) => {
    const isAsked = end === 'before' ? stream.current?.loadBefore(run, large) : stream.current?.loadBehind(run);
    if (isAsked) bump((count) => count + 1);
  }, []);
  const above: Route = subagent === undefined ? { page: 'panes' } : { page: 'pane', pane, subagent: child?.parent_agent_id };
  const back = () => up(above);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && event.target instanceof HTMLTextAreaElement) event.target.blur();
      if (isTyping(event) || document.querySelector('dialog[open]')) return;
      const handled = keys[event.key];
      if (!handled) return;
      event.preventDefault();
      handled();
    };
    const keys: Record<string, () => void> = {
      j: () => list.current?.step(1),
      k: () => list.current?.step(-1),
      g: () => list.current?.toTop(),
      G: () => list.current?.toBottom(),
      '/': () => search(true),
      i: () => document.getElementById('composer')?.focus(),
      s: () => conversation.roster.length > 0 && open('roster'),
      '?': () => open('keys'),
      u: back,
      Escape: back,
      y: () => {
        const here = list.current?.current();
        if (here) void copyText(place.linkTo(here.seq)).then(() => speak('Link copied'), () => undefined);
      },
    };
    const entered = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || isTyping(event) || !(event.target instanceof HTMLElement) || !event.target.matches('article')) return;
      event.target.querySelector<HTMLElement>('.tool-head, .fold, a.child')?.click();
    };
    addEventListener('keydown', pressed);
    addEventListener('keydown', entered);
    return () => {
      removeEventListener('keydown', pressed);
      removeEventListener('keydown', entered);
    };
  });

  const title = subagent === undefined ? titleOf(row?.cwd, row?.title, pane) : child?.description || child?.agent_type || 'Subagent';
  useEffect(() => {
    shownTitle.value = harmless(title);
    return () => {
      shownTitle.value = undefined;
    };
  }, [title]);
  const status = statusOf(card?.agent_status ?? conversation.status ?? row?.status);
  return (
    <main class="chat">
      <header class="bar">
        <button type="button" class="quiet square back" aria-label={subagent === undefined ? 'Back to the panes' : 'Back to who started it'} onClick={back}><Icon name="back" /></button>
        <div class="chat-title">
          <h1 tabIndex={-1} dir="auto">{harmless(title)}</h1>
          <p class="chat-facts">
            <LinkState link={link} onRetry={stream.current.retry} />
            {isHerdrs && subagent === undefined && STATUS_WORDS[status] !== '' && <span class={`state ${status}`}>{STATUS_WORDS[status]}</span>}
            <span class="fact">{harmless(conversation.agentKind)}</span>
            {row?.branch && <span class="fact"><Icon name="branch" label="branch" />{harmless(row.branch)}</span>}
          </p>
        </div>
        {conversation.roster.length > 0 && (
          <button type="button" class="quiet counted" aria-label={`Subagents: ${conversation.roster.length}, ${running} running`} title="Subagents" onClick={() => open('roster')}>
            <Icon name="agents" /><span class={running > 0 ? 'running' : ''}>{running > 0 ? running : conversation.roster.length}</span>
          </button>
        )}
        <button type="button" class="quiet square" aria-label="Search" title="Search" aria-expanded={searching} onClick={() => search(!searching)}><Icon name="search" /></button>
      </header>
      {subagent !== undefined && (
        <nav class="crumbs" aria-label="Where this is">
          <a href={hashOf({ page: 'pane', pane })} onClick={(event) => upInstead(event, { page: 'pane', pane })}>{harmless(titleOf(row?.cwd, row?.title, pane))}</a>
          <span aria-hidden="true">›</span>
          <span aria-current="page" dir="auto">{harmless(title)}</span>
        </nav>
      )}
      {searching && (
        <Search
          conversation={conversation}
          version={version}
          onFound={(found) => {
            mark(found);
            if (found !== undefined) list.current?.show(found);
          }}
          onMore={(run) => loadMore(run, 'before', true)}
          onClose={() => {
            search(false);
            mark(undefined);
          }}
        />
      )}
      <div class="way" role="status">
        {wanted !== undefined && sought.current === wanted && (
          <p>
            <span>Going to entry {wanted}…</span>
            <button type="button" class="more" onClick={() => want(undefined)}>Stop</button>
          </p>
        )}
        {conversation.moved && conversation.moved !== read && (
          <MovedNotice moved={conversation.moved} kind={conversation.agentKind} onClose={() => markRead(conversation.moved)} />
        )}
        {missed !== undefined && (
          <p>
            <span>Entry {missed} is not in this conversation, which has {conversation.total}.</span>
            <button type="button" class="more" onClick={() => miss(undefined)}>Close</button>
          </p>
        )}
      </div>
      {link.kind === 'refused' && conversation.newest === 0 ? (
        <div class="refusal" role="alert" tabIndex={0}>
          <Icon name="alert" />
          <h2>{link.status === 404 ? 'No conversation to show' : 'This cannot be shown'}</h2>
          <p>{harmless(link.text)}</p>
          <p class="hint">It is tried again by itself.</p>
        </div>
      ) : (
        <List
          handle={list}
          conversation={conversation}
          place={place}
          marked={marked}
          isBusy={!conversation.isOpen || conversation.asked !== undefined}
          onNear={loadMore}
        />
      )}
      <p class="unseen" aria-live="polite">{spoken}</p>
      {subagent === undefined && (isHerdrs || link.kind !== 'refused') && (
        <Dock
          pane={pane}
          card={card}
          bar={barred(isHerdrs, isGone)}
          waiting={waiting.map(({ text }) => text)}
          onSent={(text) => setWaiting((sent) => [...sent, { text, after: conversation.newest + 1 }].slice(-3))}
          onActed={look}
        />
      )}
      {over === 'roster' && <Sheet title="Subagents" onClose={() => open('nothing')}><Roster rows={conversation.roster} place={place} onOpen={() => open('nothing')} /></Sheet>}
      {over === 'keys' && <Sheet title="Keyboard" onClose={() => open('nothing')}><Keys /></Sheet>}
    </main>
  );
}

/** A plain click goes up; one that opens a tab is the browser's. */
function upInstead(event: MouseEvent, to: Route): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  up(to);
}

interface Sent {
  readonly text: string;
  /** The first entry in which it can be. */
  readonly after: number;
}

function titleOf(cwd: string | undefined, title: string | undefined, pane: string): string {
  return cwd?.split('/').filter((part) => part !== '').at(-1) ?? (title || paneName(pane));
}

/** Why this device cannot answer this pane. */
function barred(isHerdrs: boolean, isGone: boolean): string | undefined {
  if (!isHerdrs) return 'A session outside herdr: it can be read here, and answered only in its own terminal.';
  if (device.value?.scope === 'read') return 'This device may only read. To answer, pair it again with panewire pair.';
  if (isGone) return 'No agent runs in this pane now.';
  return undefined;
}
