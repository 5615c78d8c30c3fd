import { join } from 'node:path'
import { defineConfig } from 'vite'
import { switchableTokensCss } from '../look/src/tokens.ts'

const TOKENS = 'virtual:tokens.css'

/** The build of the console: content-hashed files, which the server caches for a year. */
export const config = defineConfig({
  root: import.meta.dirname,
  base: '/console-assets/',
  plugins: [
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
    },
  },
})

// biome-ignore lint/style/noDefaultExport: Vite reads the default export
export default config
