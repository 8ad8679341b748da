/** What terminals and hostile writers put into texts, made harmless to look at. */

const ANSI = /[\u001b\u009b](?:\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[[()#;?]*[0-9;:<=>?]*[ -/]*[@-~]?)/g;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** What sets a text against its own direction. The marks that right-to-left writers need are not among them. */
const OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const INVISIBLE = /[\u00ad\u200b\u2060\ufeff]/g;

/** Prose: without escape sequences and controls, and nothing in it runs backwards. */
export function prose(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(ANSI, '').replace(CONTROLS, '').replace(OVERRIDES, '');
}

/** Code, commands and names, where a sign that cannot be seen is one to be shown. */
export function code(text: string): string {
  const name = (sign: string) => `⟨U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
  return text.replace(/\r\n?/g, '\n').replace(ANSI, '').replace(CONTROLS, '').replace(BIDI, name).replace(INVISIBLE, name);
}

/** Which way a text runs, by its first letter that runs either way: what `dir=auto` says, also of what has parts with a direction of their own. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const letter = /\p{L}/u.exec(text)?.[0];
  return letter !== undefined && /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u.test(letter) ? 'rtl' : 'ltr';
}

/** The first line that says something, cut to so many characters. */
export function firstLine(text: string, most = 140): string {
  const line = prose(text).split('\n').map((each) => each.trim()).find((each) => each !== '') ?? '';
  const signs = [...line];
  return signs.length > most ? `${signs.slice(0, most - 1).join('')}…` : line;
}

/** The beginning of a text, by lines and characters; whether anything was left out. */
export function head(text: string, lines: number, characters: number): { readonly text: string; readonly cut: boolean } {
  let at = -1;
  for (let line = 0; line < lines; line += 1) {
    at = text.indexOf('\n', at + 1);
    if (at < 0) break;
  }
  const end = Math.min(at < 0 ? text.length : at, characters);
  return { text: text.slice(0, end), cut: end < text.length };
}

/** Addresses that a link may have. Anything else stays text. */
export function safeHref(href: string): string | undefined {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href.trim())) return undefined;
  try {
    const url = new URL(href.trim());
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', hellip: '…', mdash: '—', ndash: '–', copy: '©',
  rarr: '→', larr: '←', times: '×', middot: '·', bull: '•', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”',
};

/** The characters that HTML's names in a Markdown text stand for. */
export function entities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g, (whole, decimal, hex, name) => {
    if (name) return NAMED[name as string] ?? whole;
    const point = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
    return point > 0 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? prose(String.fromCodePoint(point)) : '\ufffd';
  });
}
