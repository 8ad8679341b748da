// Compresses what was built, and stops the build when the first load has become too large, or speaks of another host.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** What a phone loads before it shows anything, compressed with gzip: page, script and style. */
const FIRST_LOAD_BYTES = 150_000;

const TEXT = /\.(?:html|js|css|svg|webmanifest)$/;

function files(directory) {
  return readdirSync(directory).flatMap((name) => {
    const path = join(directory, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}

export function pack() {
  let out;
  return {
    name: 'pack',
    apply: 'build',
    configResolved({ root, build }) {
      out = join(root, build.outDir);
    },
    closeBundle() {
      const sizes = new Map();
      for (const path of files(out).filter((file) => TEXT.test(file))) {
        const bytes = readFileSync(path);
        const gzip = gzipSync(bytes, { level: 9 });
        writeFileSync(`${path}.gz`, gzip);
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
        sizes.set(path.slice(out.length + 1), gzip.length);
      }
      const page = readFileSync(join(out, 'index.html'), 'utf8');
      const named = [...page.matchAll(/(?:src|href)="(?:\.\/)?(assets\/[^"]+)"/g)].map((match) => match[1]);
      const first = ['index.html', ...named].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
      for (const [name, size] of sizes) console.log(`${String(size).padStart(8)} ${name}`);
      console.log(`${String(first).padStart(8)} first load, of at most ${FIRST_LOAD_BYTES}`);
      if (first > FIRST_LOAD_BYTES) throw new Error(`the first load is ${first} bytes, more than ${FIRST_LOAD_BYTES}`);
      if (/<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=/i.test(page)) throw new Error('the page has inline script or style, which its own policy forbids');
    },
  };
}
