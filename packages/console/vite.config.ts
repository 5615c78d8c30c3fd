import { defineConfig } from 'vite'

/** The build of the console: content-hashed files, which the server caches for a year. */
export const config = defineConfig({
  root: import.meta.dirname,
  base: '/console-assets/',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsDir: '.',
    // Inlined files would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2023',
    // Directives for servers that render React, which this is not.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
})

// biome-ignore lint/style/noDefaultExport: Vite reads the default export
export default config
