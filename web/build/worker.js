// Writes sw.js: it keeps the files of the view, by name, and nothing else. Conversations never come near it.
import { createHash } from 'node:crypto';

/** Runs in the worker; `FILES` and `VERSION` are written before it. */
const script = `
// All daemons of an origin share its caches: this one's are named by where it lies.
const OWN = 'panewire-' + new URL(self.registration.scope).pathname + '-';
const CACHE = OWN + VERSION;
const known = new Set(FILES.map((file) => new URL(file, self.registration.scope).href));

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([...known])).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  const old = (name) => name.startsWith(OWN) && name !== CACHE;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))));
});

self.addEventListener('fetch', (event) => {
  const url = event.request.url.split(/[?#]/)[0];
  if (event.request.method !== 'GET' || !known.has(url) || event.request.headers.has('authorization')) return;
  const held = () => caches.open(CACHE).then((cache) => cache.match(url));
  // A file whose name says what is in it is taken from here; the page itself is asked for, so that a new version is seen.
  const isNamed = url.includes('/assets/');
  event.respondWith(isNamed ? held().then((hit) => hit ?? fetch(event.request)) : asked(event.request, held));
});

// A proxy whose daemon is away answers in its place: that is no page of ours.
async function asked(request, held) {
  const answer = await fetch(request).catch(() => undefined);
  if (answer && answer.status < 500) return answer;
  return (await held()) ?? answer ?? Response.error();
}
`;

export function worker() {
  return {
    name: 'worker',
    enforce: 'post',
    generateBundle(_, bundle) {
      const files = ['./', ...Object.keys(bundle).filter((name) => name.startsWith('assets/')), 'icon.svg', 'manifest.webmanifest'].sort();
      const version = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12);
      const head = `const VERSION = ${JSON.stringify(version)};\nconst FILES = ${JSON.stringify(files)};`;
      this.emitFile({ type: 'asset', fileName: 'sw.js', source: head + script });
    },
  };
}
