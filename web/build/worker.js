// Writes sw.js: it keeps the files of the view, by name, and nothing else. Conversations never come near it.
import { createHash } from 'node:crypto';

/** Runs in the worker; `FILES` and `VERSION` are written before it. */
const script = `
const CACHE = 'panewire-' + VERSION;
const known = new Set(FILES.map((file) => new URL(file, self.registration.scope).href));

self.addEventListener('install', (event) => {
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll([...known])).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  const old = (name) => name.startsWith('panewire-') && name !== CACHE;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))));
});

self.addEventListener('fetch', (event) => {
  const url = event.request.url.split(/[?#]/)[0];
  if (event.request.method !== 'GET' || !known.has(url) || event.request.headers.has('authorization')) return;
  const held = () => caches.open(CACHE).then((cache) => cache.match(url));
  // A file whose name says what is in it is taken from here; the page itself is asked for, so that a new version is seen.
  const isNamed = url.includes('/assets/');
  event.respondWith(isNamed ? held().then((hit) => hit ?? fetch(event.request)) : fetch(event.request).catch(() => held().then((hit) => hit ?? Response.error())));
});
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
