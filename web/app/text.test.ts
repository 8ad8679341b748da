import { describe, expect, it } from 'vitest';

import { code, directionOf, entities, firstLine, head, prose, safeHref } from './text';

describe('prose', () => {
  it('loses escape sequences, controls and what turns it around', () => {
    expect(prose('a\u001b[31mred\u001b[0m\u0007 \u202egpj.exe\u202c\u0000')).toBe('ared gpj.exe');
    expect(prose('\u001b]8;;https://x.example\u0007link\u001b]8;;\u001b\\')).toBe('link');
    expect(prose('a\r\nb\rc\td')).toBe('a\nb\nc\td');
  });

  it('keeps the marks that right-to-left writers need', () => {
    expect(prose('שלום\u200f!')).toBe('שלום\u200f!');
  });
});

it('code shows the signs that cannot be seen', () => {
  expect(code('a\u202eb\u200bc')).toBe('a⟨U+202E⟩b⟨U+200B⟩c');
});

it('a first line says something and is not long', () => {
  expect(firstLine('\n  \n  one\ntwo')).toBe('one');
  expect(firstLine('🚂'.repeat(5), 3)).toBe('🚂🚂…');
});

it('a head is cut by lines and by characters', () => {
  expect(head('a\nb\nc', 2, 99)).toEqual({ text: 'a\nb', cut: true });
  expect(head('a\nb', 2, 99)).toEqual({ text: 'a\nb', cut: false });
  expect(head('abcdef', 9, 3)).toEqual({ text: 'abc', cut: true });
});

it('a link goes to the web or nowhere', () => {
  expect(safeHref('https://a.example/x?q=1')).toBe('https://a.example/x?q=1');
  expect(safeHref('mailto:a@b.example')).toBe('mailto:a@b.example');
  for (const bad of ['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'java\nscript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd', '//host/x', '/x', 'https://']) {
    expect(safeHref(bad), bad).toBeUndefined();
  }
});

it('names of HTML are the signs that they stand for, and never a control', () => {
  expect(entities('&lt;b&gt; &amp;amp; &#65;&#x42; &nosuch; &#0; &#xd800; &#x202e;x')).toBe('<b> &amp; AB &nosuch; \ufffd \ufffd x');
});

describe('the direction of a text', () => {
  it('is that of its first letter', () => {
    expect(['1. واحد', '> שלום', '- one שלום', '| עמוד |', '12 + 3', ''].map(directionOf)).toEqual(['rtl', 'rtl', 'ltr', 'rtl', 'ltr', 'ltr']);
  });
});
