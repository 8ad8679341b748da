/** The list of a conversation: only what is near the eye is drawn, and nothing jumps when older entries come. */
import type { JSX } from 'preact';
import { flushSync } from 'preact/compat';
import { useCallback, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Ref } from 'preact';
import { Virtualizer, type VirtualizerHandle } from 'virtua';

import type { Change, Conversation, Run } from '../wire/conversation';
import type { Entry } from '../wire/frames';
import { millis } from '../time';
import { Anchor } from './anchor';
import { isShown, Row } from './entry';
import { Icon } from './icon';
import { MovedLine } from './moved';
import type { Place } from './place';

/** The height of what stands above the first entry, as the style sheet has it. */
const TOP_PX = 56;
/** How near the end of what is loaded more is asked for. */
const NEAR_PX = 1_800;
/** How much is drawn ahead of the reader. */
const AHEAD_PX = 900;
const AT_BOTTOM_PX = 48;
const AIM_MS = 500;
const FOCUS_MS = 2_000;

export interface ListHandle {
  /** Tells the list what the conversation just did. */
  changed(change: Change): void;
  /** Moves to an entry, which must be loaded; to another run, if it is in one. */
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
  readonly isBusy: boolean;
  /** The reader comes to an end of what is loaded. */
  readonly onNear: (run: Run, end: 'before' | 'behind') => void;
  readonly handle: Ref<ListHandle>;
}

const NONE: readonly number[] = [];

/** When the entry before this one was, or one shortly before that: not every record has a time. */
function timeBefore(entries: Run, index: number): number | undefined {
  for (let at = index - 1; at >= Math.max(0, index - 8); at -= 1) {
    const time = millis(entries[at]?.ts);
    if (time !== undefined) return time;
  }
  return undefined;
}

interface Shown {
  readonly run: Run;
  /** Entries were put before the others. */
  readonly shift: boolean;
  /** Counts the runs that were shown. */
  readonly epoch: number;
}

export function List({ conversation, place, marked, isBusy, onNear, handle }: Props): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const [shown, show] = useState<Shown>({ run: conversation.tail, shift: false, epoch: 0 });
  /** Whether the list stays at its end as entries come. */
  const sticks = useRef(true);
  const touchedAt = useRef(0);
  /** When the list was last sent to an entry: until it is there, passing its end means nothing. */
  const aimedAt = useRef(0);
  /** The entry to go to as soon as its run is drawn. */
  const goal = useRef<number>();
  const reader = useRef<number | undefined>(undefined);
  const settle = useRef<() => void>(() => undefined);
  const pending = useRef(0);
  /** The run that is shown, as it is now. */
  const run = useRef(conversation.tail);
  const anchor = useRef<Anchor>();
  anchor.current ??= new Anchor(() => scroller.current);
  const [seen, setSeen] = useState<number | undefined>(undefined);
  const [kept, keep] = useState<number | undefined>(undefined);

  const toEnd = useCallback(() => {
    const last = run.current.length - 1;
    if (last >= 0) list.current?.scrollToIndex(last, { align: 'end' });
  }, []);

  const stick = useCallback((yes: boolean) => {
    if (sticks.current === yes) return;
    sticks.current = yes;
    setSeen(yes ? undefined : conversation.newest);
  }, [conversation]);

  /** Whether what is shown ends with the newest entry. */
  const isTail = useCallback(() => run.current.length === 0 || run.current === conversation.tail, [conversation]);

  const put = useCallback((next: Run, shift = false) => {
    pending.current = 0;
    run.current = next;
    show(({ epoch }) => ({ run: next, shift, epoch }));
  }, []);
  const draw = useCallback(() => put(isTail() ? conversation.tail : run.current), [conversation, put, isTail]);

  /** Shows another run than before, at one of its entries or at its end. Not at once: what calls this may be drawn just now. */
  const turnTo = useCallback((next: Run, seq?: number) => {
    pending.current = 0;
    run.current = next;
    reader.current = undefined;
    goal.current = seq;
    anchor.current?.rested();
    show(({ epoch }) => ({ run: next, shift: false, epoch: epoch + 1 }));
  }, []);

  const changed = useCallback((change: Change) => {
    if (change === 'laid') {
      const was = run.current;
      const next = conversation.runOf(was[0]?.seq ?? 0) ?? conversation.tail;
      if (next === was) return;
      anchor.current?.hold();
      // What is put before and what is put behind are never drawn at once: the list holds its place by one or the other.
      if (pending.current > 0) flushSync(() => put(was));
      flushSync(() => put(next, next[0]?.seq !== was[0]?.seq));
      if (!sticks.current) anchor.current?.keep();
    } else if (change === 'replaced') {
      sticks.current = true;
      setSeen(undefined);
      turnTo(conversation.tail);
    } else if (change === 'appended') {
      if (!isTail()) return;
      pending.current += 1;
      if (pending.current === 1) requestAnimationFrame(() => pending.current > 0 && draw());
    } else {
      draw();
    }
  }, [conversation, put, draw, turnTo, isTail]);

  // A hidden page draws no frames; what came meanwhile is drawn when it is seen.
  useEffect(() => {
    const seenAgain = () => document.visibilityState === 'visible' && pending.current > 0 && draw();
    document.addEventListener('visibilitychange', seenAgain);
    return () => document.removeEventListener('visibilitychange', seenAgain);
  }, [draw]);

  const focus = useCallback((index: number, align: 'nearest' | 'center' | 'start') => {
    const entry = run.current[index];
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
  }, [stick]);

  useLayoutEffect(() => {
    const seq = goal.current;
    goal.current = undefined;
    if (seq !== undefined) focus(seq - (run.current[0]?.seq ?? 0), 'center');
    else if (sticks.current && !shown.shift) toEnd();
  }, [shown, focus, toEnd]);

  const toNewest = useCallback(() => {
    reader.current = undefined;
    aimedAt.current = 0;
    stick(true);
    if (isTail()) toEnd();
    else turnTo(conversation.tail);
  }, [conversation, stick, toEnd, turnTo, isTail]);

  useImperativeHandle(handle, () => {
    const indexOf = (seq: number) => seq - (run.current[0]?.seq ?? 0);
    const here = () => {
      const element = scroller.current;
      if (reader.current !== undefined && run.current[indexOf(reader.current)]) return indexOf(reader.current);
      return list.current && element ? list.current.findItemIndex(element.scrollTop + element.clientHeight / 2 - TOP_PX) : 0;
    };
    return {
      changed,
      show: (seq) => {
        const found = conversation.runOf(seq);
        if (!found) return;
        stick(false);
        if (found === run.current) focus(indexOf(seq), 'center');
        else turnTo(found, seq);
      },
      toTop: () => focus(0, 'start'),
      toBottom: toNewest,
      step: (by) => {
        let index = here() + (reader.current === undefined && by < 0 ? 0 : by);
        for (let entry = run.current[index]; entry && !isShown(entry, conversation); entry = run.current[index]) index += by;
        if (index < run.current.length) focus(Math.max(0, index), 'nearest');
        else if (isTail()) toNewest();
        else onNear(run.current, 'behind');
      },
      current: () => run.current[here()],
    };
  }, [conversation, changed, focus, stick, turnTo, toNewest, isTail, onNear]);

  const below = () => {
    const element = scroller.current;
    return element ? element.scrollHeight - element.scrollTop - element.clientHeight : 0;
  };
  /** Asks for more at the end to which the reader is nearer. */
  const reach = () => {
    if (performance.now() - aimedAt.current < AIM_MS) return;
    const above = list.current?.scrollOffset ?? 0;
    const ends = [
      ...(above < NEAR_PX && conversation.goesBack(run.current) ? [{ end: 'before', far: above } as const] : []),
      ...(below() < NEAR_PX && !isTail() ? [{ end: 'behind', far: below() } as const] : []),
    ].sort((a, b) => a.far - b.far);
    if (ends[0]) onNear(run.current, ends[0].end);
  };
  const onScroll = () => {
    if (!scroller.current || performance.now() - aimedAt.current < AIM_MS) return;
    if (isTail() && below() <= AT_BOTTOM_PX) stick(true);
    else if (performance.now() - touchedAt.current < 1_000) stick(false);
    reach();
  };
  const onResize = () => {
    if (sticks.current) toEnd();
    else if (performance.now() - aimedAt.current >= AIM_MS) anchor.current?.keep();
  };
  settle.current = () => list.current && onScroll();
  // A page that was lost with its socket is asked for again; at the very end no scrolling would ask for it.
  useEffect(() => {
    const element = scroller.current;
    const stays = sticks.current && element && element.scrollHeight > element.clientHeight;
    if (!isBusy && !stays) reach();
  }, [isBusy, onNear, shown]);
  const touched = () => {
    touchedAt.current = performance.now();
  };
  const first = shown.run[0]?.seq ?? 0;
  const keptIndex = kept !== undefined && kept >= first && kept - first < shown.run.length ? kept - first : undefined;
  const fresh = seen === undefined ? 0 : conversation.newest - seen;

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
        onScrollCapture={() => anchor.current?.moved()}
      >
        <div class="top"><Top conversation={conversation} run={shown.run} /></div>
        <Virtualizer
          key={shown.epoch}
          ref={list}
          data={shown.run}
          shift={shown.shift}
          startMargin={TOP_PX}
          bufferSize={AHEAD_PX}
          keepMounted={keptIndex === undefined ? NONE : [keptIndex]}
          scrollRef={scroller}
          onScroll={onScroll}
          onScrollEnd={() => anchor.current?.rested()}
          onResize={onResize}
        >
          {(entry: Entry, index: number) => (
            <Row
              key={entry.seq}
              entry={entry}
              before={shown.run[index - 1]}
              beforeAt={timeBefore(shown.run, index)}
              conversation={conversation}
              place={place}
              isMarked={entry.seq === marked}
            />
          )}
        </Virtualizer>
        {!isTail() && <div class="top"><span class="spinner" role="img" aria-label="Newer entries are loaded as you scroll" /></div>}
      </div>
      {seen !== undefined && (
        <button type="button" class={`pill${fresh > 0 ? ' fresh' : ''}`} onClick={toNewest}>
          <Icon name="down" />
          {fresh > 0 ? `${fresh} new` : 'Newest'}
        </button>
      )}
    </div>
  );
}

/** What stands above the oldest entry that is shown. */
function Top({ conversation, run }: { readonly conversation: Conversation; readonly run: Run }): JSX.Element {
  if (run.length === 0) return <span class="quietly">{conversation.isOpen ? 'Nothing was said yet.' : 'Opening…'}</span>;
  if (conversation.goesBack(run)) return <span class="spinner" role="img" aria-label="Older entries are loaded as you scroll" />;
  const { moved } = conversation;
  if (moved && moved.to === conversation.session) return <MovedLine moved={moved} />;
  return <span class="quietly">The beginning</span>;
}
