/**
 * Markdown as elements. No HTML is ever made of it: what is HTML in a text is shown as the text that it is, a link goes to
 * the web or nowhere, and an image is named and not loaded.
 */
import { Lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren, JSX } from 'preact';

import { directionOf, entities, prose, safeHref } from '../text';
import { CodeBlock } from './code';
import { Icon } from './icon';

/** Longer texts are shown as they stand. */
const MOST_CHARACTERS = 24_000;
const MOST_DEPTH = 24;

const parsed = new Map<string, Token[] | undefined>();
const KEPT = 300;

function tokensOf(text: string): Token[] | undefined {
  if (parsed.has(text)) return parsed.get(text);
  let tokens: Token[] | undefined;
  try {
    tokens = text.length > MOST_CHARACTERS ? undefined : Lexer.lex(text, { gfm: true });
  } catch {
    // Nested beyond what the parser can do.
    tokens = undefined;
  }
  if (parsed.size >= KEPT) parsed.delete(parsed.keys().next().value ?? '');
  parsed.set(text, tokens);
  return tokens;
}

export function Markdown({ text }: { readonly text: string }): JSX.Element {
  const clean = prose(text);
  const tokens = tokensOf(clean);
  if (!tokens) return <div class="plain" dir="auto">{clean}</div>;
  return <div class="markdown" dir="auto">{blocks(tokens, 0)}</div>;
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren[] {
  return tokens.map((token, at) => block(token, at, depth));
}

function block(raw: Token, key: number, depth: number): ComponentChildren {
  if (depth > MOST_DEPTH) return raw.raw;
  const token = raw as Tokens.Generic;
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'hr':
      return <hr key={key} />;
    case 'heading': {
      // The page has the first two levels.
      const Level = (['h3', 'h4', 'h5', 'h6'] as const)[Math.min(token.depth as number, 4) - 1] ?? 'h6';
      return <Level key={key} dir="auto">{inline(token.tokens, depth)}</Level>;
    }
    case 'paragraph':
      return <p key={key} dir="auto">{inline(token.tokens, depth)}</p>;
    case 'code':
      return <CodeBlock key={key} text={token.text as string} language={(token.lang as string | undefined)?.split(/\s/)[0]} />;
    case 'blockquote':
      return <blockquote key={key} dir={directionOf(token.raw)}>{blocks(token.tokens ?? [], depth + 1)}</blockquote>;
    case 'list': {
      const items = (token as Tokens.List).items.map((item, at) => (
        <li key={at} class={item.task ? 'task' : undefined} dir="auto">{blocks(item.tokens, depth + 1)}</li>
      ));
      const start = Number((token as Tokens.List).start);
      const dir = directionOf(token.raw);
      return token.ordered ? <ol key={key} dir={dir} start={start || 1}>{items}</ol> : <ul key={key} dir={dir}>{items}</ul>;
    }
    case 'table':
      return <Table key={key} table={token as Tokens.Table} depth={depth} />;
    case 'html':
      return <p key={key} class="raw">{(token.raw as string).trim()}</p>;
    case 'text':
      return token.tokens ? <span key={key}>{inline(token.tokens, depth)}</span> : entities(token.text as string);
    default:
      return inlineOne(raw, key, depth);
  }
}

function inline(tokens: readonly Token[] | undefined, depth: number): ComponentChildren[] {
  return (tokens ?? []).map((token, at) => inlineOne(token, at, depth + 1));
}

function inlineOne(raw: Token, key: number, depth: number): ComponentChildren {
  if (depth > MOST_DEPTH) return raw.raw;
  const token = raw as Tokens.Generic;
  switch (token.type) {
    case 'strong':
      return <strong key={key}>{inline(token.tokens, depth)}</strong>;
    case 'em':
      return <em key={key}>{inline(token.tokens, depth)}</em>;
    case 'del':
      return <del key={key}>{inline(token.tokens, depth)}</del>;
    case 'codespan':
      return <code key={key} dir="ltr">{token.text as string}</code>;
    case 'br':
      return <br key={key} />;
    case 'escape':
      return token.text as string;
    case 'text':
      return token.tokens ? <span key={key}>{inline(token.tokens, depth)}</span> : entities(token.text as string);
    case 'checkbox':
      return <Icon key={key} name={token.checked ? 'checked' : 'unchecked'} label={token.checked ? 'done' : 'to do'} />;
    case 'image': {
      const href = safeHref(token.href as string);
      const label = (token.text as string) || 'image';
      return <span key={key} class="image"><Icon name="image" />{href ? <Link href={href}>{label}</Link> : label}</span>;
    }
    case 'link': {
      const href = safeHref(token.href as string);
      const label = inline(token.tokens, depth);
      return href ? <Link key={key} href={href}>{label}</Link> : <span key={key}>{label}</span>;
    }
    default:
      return token.raw as string;
  }
}

/** Opens elsewhere; the place it leads to learns nothing about this one. */
function Link({ href, children }: { readonly href: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <a href={href} title={href} target="_blank" rel="noopener noreferrer nofollow" referrerpolicy="no-referrer">
      {children}
    </a>
  );
}

function Table({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }): JSX.Element {
  const cell = (each: Tokens.TableCell, at: number, Cell: 'th' | 'td') => (
    <Cell key={at} class={each.align ? `to-${each.align}` : undefined} dir="auto">{inline(each.tokens, depth)}</Cell>
  );
  return (
    <div class="table" dir={directionOf(table.raw)} tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead><tr>{table.header.map((each, at) => cell(each, at, 'th'))}</tr></thead>
        <tbody>
          {table.rows.map((row, at) => <tr key={at}>{row.map((each, column) => cell(each, column, 'td'))}</tr>)}
        </tbody>
      </table>
    </div>
  );
}
