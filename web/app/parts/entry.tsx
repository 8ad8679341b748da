/** One entry of a conversation as a row of the list. */
import type { JSX } from 'preact';

import type { Conversation } from '../wire/conversation';
import type { Entry } from '../wire/frames';
import { firstLine, head, prose } from '../text';
import { millis, pauseBetween, timeOf, wholeTime } from '../time';
import { CopyButton } from './copy';
import { Icon } from './icon';
import { Markdown } from './markdown';
import type { Place } from './place';
import { LoneResult, ToolCard, useFold, Whole } from './tool';

interface RowProps {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  /** When the last thing before it was. */
  readonly beforeAt: number | undefined;
  readonly conversation: Conversation;
  readonly place: Place;
  /** It was asked for by its address, or found. */
  readonly isMarked: boolean;
}

/** Whether a row shows anything: an answer is shown where its call is. */
export function isShown(entry: Entry, conversation: Conversation): boolean {
  if (entry.kind === 'tool_result' && entry.result) return !conversation.hasCall(entry.result.for_id);
  return true;
}

export function Row({ entry, before, beforeAt, conversation, place, isMarked }: RowProps): JSX.Element | null {
  if (!isShown(entry, conversation)) return null;
  const pause = pauseBetween(beforeAt, millis(entry.ts));
  const says = speaker(entry);
  const isNext = before !== undefined && says !== undefined && speaker(before) === says && pause === undefined;
  return (
    <article
      id={`entry-${entry.seq}`}
      class={`entry ${entry.role} ${entry.kind}${isNext ? ' next' : ''}${isMarked ? ' marked' : ''}${entry.parsed ? '' : ' unread'}`}
      tabIndex={-1}
      aria-posinset={entry.seq}
      aria-setsize={conversation.total}
      aria-label={label(entry)}
    >
      {pause !== undefined && <p class="pause"><span>{pause}</span></p>}
      <Content entry={entry} conversation={conversation} place={place} isMarked={isMarked} />
    </article>
  );
}

/** What search looks through. */
export function searchText(entry: Entry): string {
  const { text = '', tool, result } = entry;
  return [text, tool?.name, tool?.subtitle, tool?.command, tool?.file, tool?.input_summary, tool?.diff, result?.output_summary]
    .filter((part) => part !== undefined && part !== '')
    .join('\n');
}

function speaker(entry: Entry): string | undefined {
  if (entry.kind === 'tool_call' || entry.kind === 'tool_result') return 'tool';
  return entry.kind === 'message' ? entry.role : undefined;
}

function label(entry: Entry): string {
  const who = entry.role === 'assistant' ? 'Agent' : entry.role === 'user' ? 'You' : 'System';
  switch (entry.kind) {
    case 'tool_call':
      return `Tool call ${entry.tool?.name ?? ''}`;
    case 'tool_result':
      return 'Tool result';
    case 'thinking':
      return 'Agent, thinking';
    case 'attachment':
      return `${who}, attachment`;
    case 'message':
      return `${who}: ${firstLine(entry.text ?? '', 80)}`;
  }
}

type ContentProps = Pick<RowProps, 'entry' | 'conversation' | 'place' | 'isMarked'>;

interface FoldedProps {
  readonly entry: Entry;
  readonly place: Place;
  /** Opens what is folded in it. */
  readonly isSought: boolean;
}

function Content({ entry, conversation, place, isMarked }: ContentProps): JSX.Element {
  const text = entry.text ?? '';
  if (!entry.parsed) return <p class="note"><Icon name="alert" /><span dir="auto">{prose(text) || 'A record that could not be read.'}</span></p>;
  if (entry.tool) {
    const { tool } = entry;
    return <ToolCard entry={entry} call={tool} answer={conversation.resultOf(tool.id)} child={conversation.childOf(tool.id)} place={place} isSought={isMarked} />;
  }
  if (entry.result) return <LoneResult entry={entry} result={entry.result} place={place} isSought={isMarked} />;
  if (entry.kind === 'attachment') return <p class="chip"><Icon name={/image/i.test(text) ? 'image' : 'clip'} /><span dir="auto">{prose(text).replace(/^\[(.*)\]$/s, '$1')}</span></p>;
  if (entry.kind === 'thinking') return <Thinking entry={entry} place={place} isSought={isMarked} />;
  if (entry.role === 'system') return <Note entry={entry} place={place} isSought={isMarked} />;
  return <Message entry={entry} place={place} isSought={isMarked} />;
}

function Message({ entry, place, isSought }: FoldedProps): JSX.Element {
  const text = entry.text ?? '';
  const isCommand = entry.role === 'user' && /^[/!]\S/.test(text) && !text.includes('\n');
  return (
    <div class="message">
      {isCommand ? <p class="typed" dir="ltr">{prose(text)}</p> : entry.role === 'user' ? <Typed text={text} seq={entry.seq} place={place} isSought={isSought} /> : <Markdown text={text} />}
      {entry.text_truncated && <Whole entry={entry} place={place} of={(full) => full.text ?? ''} what="message" />}
      <Meta entry={entry} place={place} />
    </div>
  );
}

/** What somebody typed or pasted: a long one is folded. */
function Typed({ text, seq, place, isSought }: { readonly text: string; readonly seq: number; readonly place: Place; readonly isSought: boolean }): JSX.Element {
  const begun = head(text, 24, 2_400);
  const [open, toggle] = useFold(`${place.key}/${seq}/typed`, false, isSought);
  return (
    <>
      <Markdown text={open || !begun.cut ? text : begun.text} />
      {begun.cut && <button type="button" class="more" aria-expanded={open} onClick={toggle}>{open ? 'Show less' : 'Show all'}</button>}
    </>
  );
}

function Meta({ entry, place }: { readonly entry: Entry; readonly place: Place }): JSX.Element {
  const at = millis(entry.ts);
  return (
    <p class="meta">
      {at !== undefined && <time dateTime={entry.ts} title={wholeTime(at)}>{timeOf(at)}</time>}
      <CopyButton text={() => entry.text ?? ''} label="Copy text" />
      <CopyButton icon="link" label="Copy link to this entry" text={() => place.linkTo(entry.seq)} />
    </p>
  );
}

function Thinking({ entry, place, isSought }: FoldedProps): JSX.Element {
  const [open, toggle] = useFold(`${place.key}/${entry.seq}`, false, isSought);
  const text = entry.text ?? '';
  return (
    <div class="thoughts">
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <Icon name="think" />
        <span class="fold-name">Thinking</span>
        {!open && <span class="fold-about" dir="auto">{firstLine(text)}</span>}
      </button>
      {open && <Markdown text={text} />}
      {open && entry.text_truncated && <Whole entry={entry} place={place} of={(full) => full.text ?? ''} what="thought" />}
    </div>
  );
}

/** What neither side said: the harness around them. */
function Note({ entry, place, isSought }: FoldedProps): JSX.Element {
  const text = prose(entry.text ?? '').trim();
  const [open, toggle] = useFold(`${place.key}/${entry.seq}`, false, isSought);
  const isShort = text.length <= 160 && !text.includes('\n');
  if (isShort) return <p class="note"><span dir="auto">{text}</span></p>;
  return (
    <div class="note">
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <span class="fold-about" dir="auto">{firstLine(text, 110)}</span>
      </button>
      {open && <div class="plain" dir="auto">{text}</div>}
    </div>
  );
}
