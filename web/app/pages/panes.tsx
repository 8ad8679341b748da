/** The list of panes: who needs somebody first. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { Icon } from '../parts/icon';
import { isTyping, Keys } from '../parts/keys';
import { Sheet } from '../parts/sheet';
import { hashOf, paneName, route } from '../route';
import { code, firstLine } from '../text';
import { age, wholeTime } from '../time';
import { cards, listing, trouble, watchPanes, type Pane, type Status } from '../wire/panes';

const HEADS: Readonly<Record<Status, string>> = {
  blocked: 'Needs you',
  done: 'Done',
  working: 'Working',
  idle: 'Idle',
  unknown: 'Other panes',
};

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
  blocked: 'needs you',
  done: 'done',
  working: 'working',
  idle: 'idle',
  unknown: '',
};

/** Sessions that nothing runs are many: the newest are shown, and the others when they are asked for. */
const FEW_SESSIONS = 12;

export function PanesPage(): JSX.Element {
  useEffect(watchPanes, []);
  const [filter, setFilter] = useState('');
  const [all, showAll] = useState(false);
  const [keys, showKeys] = useState(false);
  useKeys(() => showKeys(true));
  const found = listing.value;
  const words = filter.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const panes = (found?.panes ?? []).filter((pane) => {
    const text = `${pane.pane} ${pane.kind} ${pane.title} ${pane.cwd ?? ''} ${pane.branch ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const sections = group(panes);
  return (
    <nav class="panes" aria-label="Panes">
      <header class="bar">
        <h1 tabIndex={-1}>Panewire</h1>
        <a class="quiet square" href={hashOf({ page: 'settings' })} aria-label="Settings" title="Settings"><Icon name="settings" /></a>
      </header>
      <div class="panes-body" tabIndex={-1}>
        {(found?.panes.length ?? 0) > 5 && (
          <label class="find">
            <Icon name="search" />
            <span class="unseen">Filter panes</span>
            <input id="filter" type="search" placeholder="Filter" value={filter} autocomplete="off" spellcheck={false} onInput={(event) => setFilter(event.currentTarget.value)} />
          </label>
        )}
        <p class="trouble" role="status">{trouble.value ?? ''}</p>
        {!found && !trouble.value && <Waiting />}
        {sections.map(({ head, key, rows }) => {
          const shown = key === 'sessions' && !all && words.length === 0 ? rows.slice(0, FEW_SESSIONS) : rows;
          return (
            <section key={key} class={`group ${key}`} aria-labelledby={`head-${key}`}>
              <h2 id={`head-${key}`}>{head}<span class="count">{rows.length}</span></h2>
              <ul>{shown.map((pane) => <PaneItem key={pane.pane} pane={pane} />)}</ul>
              {shown.length < rows.length && <button type="button" class="more" onClick={() => showAll(true)}>{rows.length - shown.length} more</button>}
            </section>
          );
        })}
        {found && panes.length === 0 && <p class="nothing">{words.length > 0 ? 'No pane fits.' : 'Nothing to follow yet: start an agent on this machine.'}</p>}
        {found?.notes.map((note) => <p key={note} class="note"><Icon name="alert" /><span>{note}</span></p>)}
      </div>
      {keys && <Sheet title="Keyboard" onClose={() => showKeys(false)}><Keys /></Sheet>}
    </nav>
  );
}

/** The keys of a conversation, for the list: unless a conversation is beside it, whose they are then. */
function useKeys(onHelp: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (route.value.page !== 'panes' || isTyping(event) || document.querySelector('dialog[open]')) return;
      const links = [...document.querySelectorAll<HTMLElement>('a.pane')];
      const at = links.findIndex((link) => link === document.activeElement);
      const keys: Record<string, () => void> = {
        j: () => links[Math.min(at + 1, links.length - 1)]?.focus(),
        k: () => links[Math.max(at - 1, 0)]?.focus(),
        g: () => links[0]?.focus(),
        G: () => links.at(-1)?.focus(),
        '/': () => document.getElementById('filter')?.focus(),
        '?': onHelp,
      };
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  });
}

interface Group {
  readonly key: string;
  readonly head: string;
  readonly rows: readonly Pane[];
}

function group(panes: readonly Pane[]): Group[] {
  const groups = (Object.keys(HEADS) as Status[]).map((status) => ({
    key: status as string,
    head: HEADS[status],
    rows: panes.filter((pane) => pane.isHerdrs && pane.status === status),
  }));
  groups.push({ key: 'sessions', head: 'Sessions', rows: panes.filter((pane) => !pane.isHerdrs) });
  return groups.filter(({ rows }) => rows.length > 0);
}

function PaneItem({ pane }: { readonly pane: Pane }): JSX.Element {
  const card = cards.value.get(pane.pane);
  const at = route.value;
  const isHere = at.page === 'pane' && at.pane === pane.pane;
  const question = card?.blocked?.question || (card?.agent_status === 'blocked' ? card.headline : undefined);
  // A headline that is an item of a list says the same without its mark.
  const does = (question ?? card?.headline ?? pane.title).replace(/^[-*] (?:\[[ x]\] )?/, '');
  const directory = pane.cwd?.split('/').filter((part) => part !== '').at(-1);
  const name = directory || (pane.isHerdrs ? '' : pane.title) || paneName(pane.pane);
  return (
    <li>
      <a class={`pane ${pane.isHerdrs ? pane.status : 'session'}`} href={hashOf({ page: 'pane', pane: pane.pane })} aria-current={isHere ? 'page' : undefined}>
        <span class="dot" role="img" aria-label={STATUS_WORDS[pane.status] || 'session'} />
        <span class="pane-text">
          <span class="pane-name"><span class="pane-title" dir="auto">{code(name)}</span>{pane.activeAt !== undefined && <time title={wholeTime(pane.activeAt)}>{age(pane.activeAt)}</time>}</span>
          {does && does !== name && <span class={`pane-does${question ? ' asks' : ''}`} dir="auto">{firstLine(does)}</span>}
          <span class="pane-facts">
            <span class="kind">{code(pane.kind)}</span>
            {pane.branch && <span class="fact"><Icon name="branch" label="branch" />{code(pane.branch)}</span>}
            {pane.running > 0 && <span class="fact"><Icon name="agents" />{pane.running} running</span>}
            <span class="fact id" dir="ltr">{pane.isHerdrs ? code(pane.pane) : code((pane.session ?? pane.pane).slice(0, 8))}</span>
          </span>
        </span>
      </a>
    </li>
  );
}

function Waiting(): JSX.Element {
  return <div class="waiting-rows" role="status" aria-label="Loading">{[0, 1, 2, 3].map((row) => <span key={row} />)}</div>;
}
