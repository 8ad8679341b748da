// What goes into the bundle, or makes it, must be free to be given on.
import { readFileSync } from 'node:fs';

const FREE = new Set(['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'MPL-2.0', 'BlueOak-1.0.0', 'CC0-1.0', 'Python-2.0']);

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
const bad = [];
let count = 0;
for (const [path, { license, resolved }] of Object.entries(packages)) {
  if (path === '') continue;
  count += 1;
  const names = (license ?? 'none').replace(/[()]/g, '').split(/ (?:OR|AND) /);
  if (!names.every((name) => FREE.has(name))) bad.push(`${path}: licence ${license}`);
  if (resolved !== undefined) bad.push(`${path}: names the host it came from`);
}
if (bad.length > 0) {
  console.error(bad.join('\n'));
  process.exit(1);
}
console.log(`${count} packages, all of them free`);
