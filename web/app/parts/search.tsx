/** Search in what is loaded; says so, and loads more. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { Conversation, Run } from '../wire/conversation';
import { searchText } from './entry';
import { Icon } from './icon';

interface Props {
  readonly conversation: Conversation;
  /** Changes whenever the conversation does. */
  readonly version: number;
  readonly onFound: (seq: number | undefined) => void;
  /** Loads what is before a run. */
  readonly onMore: (run: Run) => void;
  readonly onClose: () => void;
}

export function Search({ conversation, version, onFound, onMore, onClose }: Props): JSX.Element {
  const [words, setWords] = useState('');
  const [at, setAt] = useState<number | undefined>();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const wanted = words.trim().toLowerCase();
  // A call and its answer are one place.
  const hits = wanted === '' ? [] : conversation.runs.flat().filter((entry) => searchText(entry).toLowerCase().includes(wanted));
  const found = [...new Set(hits.map(({ seq }) => conversation.rowOf(seq)))].sort((a, b) => a - b);
  const place = at === undefined ? -1 : found.indexOf(at);
  const move = (by: number) => {
    if (found.length === 0) return;
    // The first that is found is the newest.
    const next = place < 0 ? found.length - 1 : (place + by + found.length) % found.length;
    setAt(found[next]);
    onFound(found[next]);
  };
  // The newest run that something is missing before: what is searched for is mostly not long ago.
  const more = conversation.runs.findLast((run) => conversation.goesBack(run));
  void version;
  return (
    <form class="search" role="search" onSubmit={(event) => { event.preventDefault(); move(-1); }}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        value={words}
        placeholder="Search what is loaded"
        aria-label="Search this conversation"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setWords(event.currentTarget.value);
          setAt(undefined);
          onFound(undefined);
        }}
        onKeyDown={(event) => event.key === 'Escape' && onClose()}
      />
      <span class="search-count" role="status">{wanted === '' ? '' : found.length === 0 ? 'none' : `${place < 0 ? '–' : place + 1} of ${found.length}`}</span>
      <button type="submit" class="quiet square" aria-label="Previous match" disabled={found.length === 0}><Icon name="up" /></button>
      <button type="button" class="quiet square" aria-label="Next match" disabled={found.length === 0} onClick={() => move(1)}><Icon name="down" /></button>
      <button type="button" class="quiet square" aria-label="Close search" onClick={onClose}><Icon name="failed" /></button>
      {more && (
        <p class="search-scope">
          <span>Only what is loaded is searched: {counted(conversation.held)} of {counted(conversation.total)} entries.</span>
          <button type="button" class="more" disabled={conversation.asked !== undefined} onClick={() => onMore(more)}>{conversation.asked ? 'Loading…' : 'Load more'}</button>
        </p>
      )}
    </form>
  );
}

const counted = (count: number): string => count.toLocaleString();
