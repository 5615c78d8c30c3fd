import { join } from 'node:path'
import locales from '@react-aria/optimize-locales-plugin'
import { defineConfig } from 'vite'
import { switchableTokensCss } from '../look/src/tokens.ts'

const BASE = '/console-assets/'
const TOKENS = 'virtual:tokens.css'

/** Modules that so many lazy parts of the console use are in one chunk. */
const SHARED_BY_PAGES = 11
const SHARED = 'shared'
/** The first script with what it imports, and what it loads for every page. */
const START = 'start'
const MAIN = 'main'

/**
 * Tells V8 to compile all functions of a script in the thread that receives it. Otherwise it compiles each on the main thread when it is
 * first called, which takes a fifth of the main thread's time until a page is ready.
 */
const COMPILE_HINT = '//# allFunctionsCalledOnLoad'

/** The build of the console: content-hashed files, which the server caches for a year. */
export const config = defineConfig({
  root: import.meta.dirname,
  base: BASE,
  plugins: [
    // The console is written in English: the words that React Aria adds for screen readers are too.
    locales.vite({ locales: ['en-US'] }),
    {
      name: 'compile hint',
      generateBundle: {
        // Only the first line of a file is a hint, and Vite adds lines at this time too.
        order: 'post',
        handler(_, bundle) {
          // Chunks of pages stay as they are: most of their functions are of dialogs, which are not called.
          for (const chunk of Object.values(bundle))
            if (chunk.type === 'chunk' && [START, MAIN, SHARED].includes(chunk.name))
              chunk.code = `${COMPILE_HINT}\n${chunk.code}`
        },
      },
    },
    {
      name: 'preload of the shell',
      transformIndexHtml: {
        // After Vite has linked what the first script imports.
        order: 'post',
        handler(html, { bundle = {} }) {
          const main = Object.values(bundle).find((file) => file.type === 'chunk' && file.name === MAIN)
          if (main?.type !== 'chunk') throw new Error(`the build has no chunk ${MAIN}`)
          return [main.fileName, ...main.imports]
            .map((name) => `${BASE}${name}`)
            .filter((href) => !html.includes(href))
            .map((href) => ({
              tag: 'link',
              attrs: { rel: 'modulepreload', crossorigin: true, href },
              injectTo: 'head',
            }))
        },
      },
    },
    {
      name: 'tokens of @berth/look',
      resolveId: (id) => (id === TOKENS ? id : undefined),
      load: (id) => (id === TOKENS ? switchableTokensCss : undefined),
    },
  ],
  build: {
    // Apart from modules of the server, for the packages that are published.
    outDir: 'dist/static',
    emptyOutDir: true,
    assetsDir: '.',
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // Directives for servers that render React, which this is not.
    rolldownOptions: {
      input: join(import.meta.dirname, 'console.html'),
      checks: { moduleLevelDirective: false },
      output: {
        codeSplitting: {
          // One chunk of what most pages need: a page of fifty small chunks costs more in requests than in bytes.
          groups: [
            { name: START, test: /src\/(?:start|page-starts)\.ts$/, priority: 1 },
            { name: SHARED, minShareCount: SHARED_BY_PAGES },
          ],
        },
      },
    },
  },
})

// biome-ignore lint/style/noDefaultExport: Vite reads the default export
export default config
