/** Colours for code. Loaded when the first code is shown that has a language. */
import { createLowlight } from 'lowlight';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import markdown from 'highlight.js/lib/languages/markdown';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { h, type ComponentChild } from 'preact';

const lowlight = createLowlight({
  bash, c, cpp, css, diff, go, ini, java, javascript, json, kotlin, markdown, python, ruby, rust, sql, swift, typescript, xml, yaml,
});
lowlight.registerAlias({ bash: ['console', 'shell-session', 'fish'], ini: ['conf'], json: ['json5', 'jsonl'] });

type Node = ReturnType<typeof lowlight.highlight>['children'][number];

export function highlight(text: string, language: string): ComponentChild[] | undefined {
  const name = language.toLowerCase();
  if (!lowlight.registered(name)) return undefined;
  return lowlight.highlight(name, text).children.map(element);
}

function element(node: Node, key: number): ComponentChild {
  if (node.type === 'text') return node.value;
  if (node.type !== 'element') return null;
  const names = node.properties['className'];
  return h('span', { key, class: Array.isArray(names) ? names.join(' ') : '' }, ...node.children.map(element));
}
