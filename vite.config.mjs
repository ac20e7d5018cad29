/** Builds the dashboard from src/ui/ into dist/ui/, from where the daemon serves it under /ui/. */
import { defineConfig } from 'vite'
import { helpPages } from './scripts/build-parts/help-pages.mjs'
import { themeScript } from './scripts/build-parts/theme-script.mjs'

export default defineConfig({
  root: 'src/ui',
  base: '/ui/',
  publicDir: false,
  plugins: [helpPages(), themeScript()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/ui',
    emptyOutDir: true,
    target: 'es2022',
    assetsDir: 'assets',
    // The Content-Security-Policy of the page allows no data: script or style, and images alone would hardly gain.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: 'licenses.md' },
  },
  logLevel: 'warn',
})
