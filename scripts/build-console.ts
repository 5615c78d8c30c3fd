import { existsSync } from 'node:fs'

/**
 * `npm run build:console`, and part of `npm ci`: builds packages/console into its `dist/`, which the server sends. An installation without
 * development dependencies cannot build it, and does not fail: the server says on the page that the console is not built.
 */

const root = new URL('../packages/console/', import.meta.url)

if (!existsSync(new URL('vite.config.ts', root))) {
  process.stdout.write('console: no sources, nothing to build\n')
} else if (!isInstalled('vite') || !isInstalled('react')) {
  process.stdout.write('console: not built, because development dependencies are not installed\n')
} else {
  const { build } = await import('vite')
  await build({ root: root.pathname, logLevel: 'warn' })
  process.stdout.write('console: built into packages/console/dist/static\n')
}

function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
