/** The list of a conversation: only what is near the eye is drawn, and nothing jumps when older entries come. */
import type { JSX } from 'preact';
import { flushSync } from 'preact/compat';
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Ref } from 'preact';
import { Virtualizer, type VirtualizerHandle } from 'virtua';

import type { Change, Conversation } from '../wire/conversation';
import type { Entry } from '../wire/frames';
import { millis } from '../time';
import { isShown, Row } from './entry';
import { Icon } from './icon';
import type { Place } from './place';

/** The height of what stands above the first entry, as the style sheet has it. */
const TOP_PX = 56;
const NEAR_TOP_PX = 1_800;
const AT_BOTTOM_PX = 48;
const AIM_MS = 500;
const FOCUS_MS = 2_000;

export interface ListHandle {
  /** Tells the list what the conversation just did. */
  changed(change: Change): void;
  /** Moves to an entry, which must be loaded. */
  show(seq: number): void;
  toTop(): void;
  toBottom(): void;
  /** Moves the reader's place by so many entries. */
  step(by: number): void;
  /** The entry at which the reader is. */
  current(): Entry | undefined;
}

interface Props {
  readonly conversation: Conversation;
  readonly place: Place;
  readonly marked: number | undefined;
  /** What stands above the oldest entry. */
  readonly top: JSX.Element | string;
  readonly isBusy: boolean;
  readonly onNearTop: () => void;
  readonly handle: Ref<ListHandle>;
}

const NONE: readonly number[] = [];

/** When the entry before this one was, or one shortly before that: not every record has a time. */
function timeBefore(entries: readonly Entry[], index: number): number | undefined {
  for (let at = index - 1; at >= Math.max(0, index - 8); at -= 1) {
    const time = millis(entries[at]?.ts);
    if (time !== undefined) return time;
  }
  return undefined;
}

interface Shown {
  readonly entries: readonly Entry[];
  /** The entries were put before the others. */
  readonly shift: boolean;
  /** Counts the conversations that were shown. */
  readonly epoch: number;
}

export function List({ conversation, place, marked, top, isBusy, onNearTop, handle }: Props): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const [shown, show] = useState<Shown>({ entries: conversation.entries, shift: false, epoch: 0 });
  /** Whether the list stays at its end as entries come. */
  const sticks = useRef(true);
  const touchedAt = useRef(0);
  /** When the list was last sent to an entry: until it is there, passing its end means nothing. */
  const aimedAt = useRef(0);
  const reader = useRef<number | undefined>(undefined);
  const settle = useRef<() => void>(() => undefined);
  const pending = useRef(0);
  const length = useRef(conversation.entries.length);
  const [seen, setSeen] = useState<number | undefined>(undefined);
  const [kept, keep] = useState<number | undefined>(undefined);

  const toEnd = useCallback(() => {
    const last = conversation.entries.length - 1;
    if (last >= 0) list.current?.scrollToIndex(last, { align: 'end' });
  }, [conversation]);

  const stick = useCallback((yes: boolean) => {
    if (sticks.current === yes) return;
    sticks.current = yes;
    setSeen(yes ? undefined : conversation.newest);
  }, [conversation]);

  const draw = useCallback(() => {
    pending.current = 0;
    length.current = conversation.entries.length;
    show(({ epoch }) => ({ entries: conversation.entries, shift: false, epoch }));
  }, [conversation]);

  const changed = useCallback((change: Change) => {
    if (change === 'prepended') {
      // What is put before and what is put behind are never drawn at once: the list holds its place by one or the other.
      const added = conversation.entries.length - length.current - pending.current;
      if (pending.current > 0) flushSync(() => show(({ epoch }) => ({ entries: conversation.entries.slice(added), shift: false, epoch })));
      pending.current = 0;
      length.current = conversation.entries.length;
      flushSync(() => show(({ epoch }) => ({ entries: conversation.entries, shift: true, epoch })));
    } else if (change === 'replaced') {
      pending.current = 0;
      length.current = conversation.entries.length;
      sticks.current = true;
      reader.current = undefined;
      setSeen(undefined);
      flushSync(() => show(({ epoch }) => ({ entries: conversation.entries, shift: false, epoch: epoch + 1 })));
    } else if (change === 'appended') {
      pending.current += 1;
      if (pending.current === 1) requestAnimationFrame(() => pending.current > 0 && draw());
    } else {
      draw();
    }
  }, [conversation, draw]);

  useLayoutEffect(() => {
    if (sticks.current && !shown.shift) toEnd();
  }, [shown, toEnd]);

  // A hidden page draws no frames; what came meanwhile is drawn when it is seen.
  useEffect(() => {
    const seenAgain = () => document.visibilityState === 'visible' && pending.current > 0 && draw();
    document.addEventListener('visibilitychange', seenAgain);
    return () => document.removeEventListener('visibilitychange', seenAgain);
  }, [draw]);

  const focus = useCallback((index: number, align: 'nearest' | 'center' | 'start') => {
    const entry = conversation.entries[index];
    if (!entry) return;
    reader.current = entry.seq;
    stick(false);
    aimedAt.current = performance.now();
    list.current?.scrollToIndex(index, { align });
    setTimeout(() => settle.current(), AIM_MS);
    // It is drawn from now on, wherever the list is: what has the focus must not vanish.
    keep(entry.seq);
    // Until it is measured it is hidden, and cannot have the focus.
    const until = performance.now() + FOCUS_MS;
    const take = () => {
      const row = document.getElementById(`entry-${entry.seq}`);
      row?.focus({ preventScroll: true });
      if (document.activeElement !== row && reader.current === entry.seq && performance.now() < until) requestAnimationFrame(take);
    };
    take();
  }, [conversation, stick]);

  useImperativeHandle(handle, () => {
    const indexOf = (seq: number) => seq - conversation.oldest;
    const here = () => {
      const element = scroller.current;
      if (reader.current !== undefined && conversation.at(reader.current)) return indexOf(reader.current);
      return list.current && element ? list.current.findItemIndex(element.scrollTop + element.clientHeight / 2 - TOP_PX) : 0;
    };
    return {
      changed,
      show: (seq) => focus(indexOf(seq), 'center'),
      toTop: () => focus(0, 'start'),
      toBottom: () => {
        reader.current = undefined;
        aimedAt.current = 0;
        stick(true);
        toEnd();
      },
      step: (by) => {
        let index = here() + (reader.current === undefined && by < 0 ? 0 : by);
        for (let entry = conversation.entries[index]; entry && !isShown(entry, conversation); entry = conversation.entries[index]) index += by;
        if (index >= conversation.entries.length) {
          stick(true);
          toEnd();
        } else focus(Math.max(0, index), 'nearest');
      },
      current: () => conversation.entries[here()],
    };
  }, [conversation, changed, focus, stick, toEnd]);

  const onScroll = (offset: number) => {
    const element = scroller.current;
    if (!element || performance.now() - aimedAt.current < AIM_MS) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (below <= AT_BOTTOM_PX) stick(true);
    else if (performance.now() - touchedAt.current < 1_000) stick(false);
    if (offset < NEAR_TOP_PX) onNearTop();
  };
  settle.current = () => list.current && onScroll(list.current.scrollOffset);
  // A page that was lost with its socket is asked for again; at the very top no scrolling would ask for it.
  useEffect(() => {
    const element = scroller.current;
    const stays = sticks.current && element && element.scrollHeight > element.clientHeight;
    if (!isBusy && !stays && (list.current?.scrollOffset ?? 0) < NEAR_TOP_PX) onNearTop();
  }, [isBusy, onNearTop]);
  const touched = () => {
    touchedAt.current = performance.now();
  };
  const first = shown.entries[0]?.seq ?? 0;
  const keptIndex = kept !== undefined && kept >= first && kept - first < shown.entries.length ? kept - first : undefined;
  const below = seen === undefined ? 0 : conversation.newest - seen;

  return (
    <div class="list">
      <div
        class="scroller"
        ref={scroller}
        role="feed"
        aria-label="Conversation"
        aria-busy={isBusy}
        tabIndex={0}
        onWheel={touched}
        onTouchMove={touched}
        onPointerDown={touched}
        onKeyDown={touched}
      >
        <div class="top">{top}</div>
        <Virtualizer
          key={shown.epoch}
          ref={list}
          data={shown.entries}
          shift={shown.shift}
          startMargin={TOP_PX}
          bufferSize={600}
          keepMounted={keptIndex === undefined ? NONE : [keptIndex]}
          scrollRef={scroller}
          onScroll={onScroll}
          onResize={() => sticks.current && toEnd()}
        >
          {(entry: Entry, index: number) => (
            <Row
              key={entry.seq}
              entry={entry}
              before={shown.entries[index - 1]}
              beforeAt={timeBefore(shown.entries, index)}
              conversation={conversation}
              place={place}
              isMarked={entry.seq === marked}
            />
          )}
        </Virtualizer>
      </div>
      {seen !== undefined && (
        <button
          type="button"
          class={`pill${below > 0 ? ' fresh' : ''}`}
          onClick={() => {
            reader.current = undefined;
            stick(true);
            toEnd();
          }}
        >
          <Icon name="down" />
          {below > 0 ? `${below} new` : 'Newest'}
        </button>
      )}
    </div>
  );
}
