import { globSync, readFileSync, writeFileSync } from 'node:fs'

/** The version of the project, which all its packages share. */

interface Manifest {
  version?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

export function currentVersion(): string {
  return (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version
}

/** Sets the version in every package.json, in package-lock.json and in the Helm chart. Returns the changed files. */
export function setVersion(version: string): string[] {
  const files = ['package.json', ...globSync('packages/*/package.json')]
  for (const file of files)
    change<Manifest>(file, (manifest) => {
      setIn(manifest, version)
    })
  change<Manifest & { packages: Record<string, Manifest> }>('package-lock.json', (lock) => {
    lock.version = version
    for (const [path, manifest] of Object.entries(lock.packages))
      if (path === '' || /^packages\/[^/]+$/.test(path)) setIn(manifest, version)
  })
  const charts = globSync('deploy/helm/*/Chart.yaml')
  for (const file of charts) {
    const chart = readFileSync(file, 'utf8')
    writeFileSync(file, chart.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`))
  }
  return [...files, 'package-lock.json', ...charts]
}

function setIn(manifest: Manifest, version: string): void {
  manifest.version = version
  for (const versions of [manifest.dependencies ?? {}, manifest.devDependencies ?? {}])
    for (const name of Object.keys(versions)) if (name.startsWith('@berth/')) versions[name] = version
}

function change<T>(file: string, edit: (content: T) => void): void {
  const content = JSON.parse(readFileSync(file, 'utf8')) as T
  edit(content)
  writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`)
}

/** Compares `x.y.z` by numbers. */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  const differing = [0, 1, 2].find((at) => a?.[at] !== b?.[at])
  return differing !== undefined && (a?.[differing] ?? 0) > (b?.[differing] ?? 0)
}
