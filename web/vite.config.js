import { defineConfig } from 'vite';

import { icons } from './build/icons.js';
import { pack } from './build/pack.js';
import { worker } from './build/worker.js';

export default defineConfig({
  root: 'app',
  // Everything is named from where the page lies: it works below any path.
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  resolve: {
    alias: { react: 'preact/compat', 'react-dom': 'preact/compat', 'react/jsx-runtime': 'preact/jsx-runtime' },
    dedupe: ['preact'],
  },
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  plugins: [icons(), worker(), pack()],
  test: { root: '.', include: ['app/**/*.test.ts', 'app/**/*.test.tsx'] },
});
