import { spawnSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { type PackageDirectory, type PublishedPackage, publishedPackages } from './definitions.ts'
import { linkPackage } from './link.ts'
import { CLIENT, PROGRAM_MODE } from './paths.ts'

/** Compiles the published packages. */

/** The fields of a manifest of the repository that the packages take over. */
interface Manifest {
  readonly version: string
  readonly license: string
  readonly engines: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/** Builds all packages into directories of `output`, whose content it deletes. Returns their directories. */
export function buildPackages(output = 'dist'): Record<PackageDirectory, string> {
  rmSync(output, { recursive: true, force: true })
  const compiled = resolve(output, '.compiled')
  compile('scripts/packages/tsconfig.json', compiled)
  compile('scripts/packages/tsconfig.client.json', compiled)
  const root = readManifest('package.json')
  const packages = publishedPackages(root.dependencies?.['node'] ?? '')
  const build = (name: PackageDirectory) => buildPackage(packages[name], join(output, name), compiled, root)
  return { berth: build('berth'), cli: build('cli'), client: build('client') }
}

function compile(project: string, output: string): void {
  run('node_modules/.bin/tsc', '--project', project, '--outDir', output)
}

function run(command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`)
}

function buildPackage(
  published: PublishedPackage,
  directory: string,
  compiled: string,
  root: Manifest,
): string {
  const { files, dependencies } = linkPackage(published, compiled)
  for (const [path, content] of files) write(join(directory, path), content)
  for (const path of Object.values(published.entries))
    if (files.get(path)?.toString().startsWith('#!')) chmodSync(join(directory, path), PROGRAM_MODE)
  const manifest = {
    name: published.name,
    version: root.version,
    description: published.description,
    license: root.license,
    type: 'module',
    engines: root.engines,
    ...published.fields,
    dependencies: versionsOf(published, dependencies),
  }
  write(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  // After the manifest, which names the kind of its modules.
  if (published.inlined !== undefined)
    run(process.execPath, 'scripts/packages/bundle.ts', directory, CLIENT, ...published.inlined)
  if (published.hasTypes)
    for (const file of globSync(`${compiled}/${CLIENT}**/*.d.ts`)) {
      const path = relative(join(compiled, published.top ?? ''), file)
      write(join(directory, path), readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
    }
  write(join(directory, 'README.md'), readFileSync(published.readme))
  write(join(directory, 'LICENSE'), readFileSync('LICENSE'))
  return directory
}

/** Returns the dependencies with the versions that the workspaces declare. Fails for one that is imported and not declared. */
function versionsOf(published: PublishedPackage, dependencies: ReadonlySet<string>): Record<string, string> {
  const declared: Record<string, string> = Object.assign(
    {},
    ...published.workspaces.map((name) => readManifest(`packages/${name}/package.json`).dependencies),
  )
  return Object.fromEntries(
    [...dependencies].sort().map((name) => {
      const version = declared[name]
      if (version === undefined)
        throw new Error(`${published.name} imports ${name}, which no package.json declares`)
      return [name, version]
    }),
  )
}

function readManifest(path: string): Manifest {
  return JSON.parse(readFileSync(path, 'utf8')) as Manifest
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
