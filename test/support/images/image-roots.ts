import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { deflateSync, gunzipSync } from 'node:zlib'
import { run } from './oci-layout.ts'

/** File systems of images, from the packages of public registries and the databases of test/package-databases. Each function fills a folder. */

const DATA = 'test/package-databases'

export function writeIn(root: string, path: string, content: Buffer | string): void {
  const file = join(root, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Copies files of this machine into a folder. */
export function addFiles(root: string, folder: string, files: readonly string[]): void {
  mkdirSync(join(root, folder), { recursive: true })
  for (const file of files) copyFileSync(file, join(root, folder, basename(file)))
}

export function addOsRelease(root: string, id: string, versionId: string, idLike = ''): void {
  const lines = [`ID=${id}`, `VERSION_ID="${versionId}"`, `PRETTY_NAME="${id} ${versionId}"`]
  if (idLike !== '') lines.push(`ID_LIKE=${idLike}`)
  writeIn(root, 'etc/os-release', `${lines.join('\n')}\n`)
}

export function addDatabase(root: string, path: string, source: string): void {
  const content = readFileSync(join(DATA, source))
  writeIn(root, path, source.endsWith('.gz') ? gunzipSync(content) : content)
}

/** Unpacks Debian packages, and lists them as dpkg does: in `status`, or in parts of `status.d` as distroless images have them. */
export function addDebianPackages(
  root: string,
  cache: string,
  names: readonly string[],
  form: 'status' | 'status.d' = 'status',
): void {
  mkdirSync(cache, { recursive: true })
  const missing = names.filter((name) => debOf(cache, name) === undefined)
  if (missing.length > 0) run('apt-get', ['download', '-q', ...missing], { cwd: cache })
  const paragraphs = names.map((name) => {
    const deb = debOf(cache, name)
    if (deb === undefined) throw new Error(`apt-get has not downloaded ${name}`)
    run('dpkg-deb', ['-x', deb, root])
    const control = run('dpkg-deb', ['-f', deb])
    if (form === 'status.d') writeIn(root, `var/lib/dpkg/status.d/${name}`, control)
    return control.replace(/^(Package: .*)$/m, '$1\nStatus: install ok installed')
  })
  if (form === 'status') writeIn(root, 'var/lib/dpkg/status', `${paragraphs.join('\n')}\n`)
}

function debOf(cache: string, name: string): string | undefined {
  return globSync(`${name}_*.deb`, { cwd: cache }).map((file) => join(cache, file))[0]
}

export function addNpmPackages(root: string, packages: readonly string[]): void {
  writeIn(root, 'app/package.json', JSON.stringify({ name: 'app', version: '1.0.0' }))
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages], {
    cwd: join(root, 'app'),
  })
}

export function addPythonPackages(root: string, packages: readonly string[]): void {
  const target = join(root, 'usr/local/lib/python3.11/site-packages')
  run('python3', ['-m', 'pip', 'install', '-q', '--no-compile', '--target', target, ...packages])
}

export function addMavenArchives(root: string, work: string, artifacts: readonly string[]): void {
  const target = join(root, 'opt/lib')
  const dependencies = artifacts.map((artifact) => {
    const [groupId, artifactId, version] = artifact.split(':')
    return `<dependency><groupId>${groupId}</groupId><artifactId>${artifactId}</artifactId><version>${version}</version></dependency>`
  })
  writeIn(
    work,
    'pom.xml',
    `<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>app</artifactId><version>1</version>
<dependencies>${dependencies.join('')}</dependencies></project>`,
  )
  mkdirSync(target, { recursive: true })
  run('mvn', ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${target}`], { cwd: work })
}

/** Builds a Go program with dependencies of the module proxy, the latest ones without `versions`. */
export function addGoProgram(
  root: string,
  work: string,
  imports: readonly string[],
  versions: readonly string[] = [],
): void {
  writeIn(
    work,
    'main.go',
    `package main\n\nimport (\n${imports.map((path) => `\t_ "${path}"\n`).join('')})\n\nfunc main() {}\n`,
  )
  writeIn(work, 'go.mod', 'module example.org/app\n\ngo 1.22\n')
  const env = { CGO_ENABLED: '0', GOFLAGS: '-mod=mod', GOMAXPROCS: '1' }
  if (versions.length > 0)
    run('go', ['mod', 'edit', ...versions.map((version) => `-require=${version}`)], { cwd: work, env })
  run('go', ['mod', 'tidy'], { cwd: work, env })
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  run('go', ['build', '-o', join(root, 'usr/bin/app'), '.'], { cwd: work, env })
  // Stripped of its symbols, and for another system.
  run('go', ['build', '-ldflags=-s -w', '-o', join(root, 'usr/bin/app-stripped'), '.'], { cwd: work, env })
  run('go', ['build', '-o', join(root, 'usr/bin/app.exe'), '.'], {
    cwd: work,
    env: { ...env, GOOS: 'windows' },
  })
}

/** A program with a list of crates, as cargo-auditable writes it: the section `.dep-v0`. */
export function addRustProgram(root: string, work: string, crates: Readonly<Record<string, string>>): void {
  const packages = Object.entries(crates).map(([name, version], at) => ({
    name,
    version,
    source: at === 0 ? 'local' : 'crates.io',
    kind: 'runtime',
    ...(at === 0 && {
      root: true,
      dependencies: Object.keys(crates)
        .slice(1)
        .map((_, index) => index + 1),
    }),
  }))
  writeIn(work, 'list', deflateSync(JSON.stringify({ packages })))
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  const program = join(root, 'usr/bin/tool')
  copyFileSync('/bin/true', program)
  run('objcopy', ['--add-section', `.dep-v0=${join(work, 'list')}`, program])
}

export function addComposerPackages(root: string, versions: Readonly<Record<string, string>>): void {
  const packages = Object.entries(versions).map(([name, version]) => ({ name, version, license: ['MIT'] }))
  writeIn(root, 'app/vendor/composer/installed.json', JSON.stringify({ packages, dev: false }))
}

export function addDotnetProgram(root: string, versions: Readonly<Record<string, string>>): void {
  const runtime = '.NETCoreApp,Version=v8.0'
  const keys = Object.entries(versions).map(([name, version]) => `${name}/${version}`)
  writeIn(
    root,
    'app/program.deps.json',
    JSON.stringify({
      runtimeTarget: { name: runtime },
      targets: {
        [runtime]: Object.fromEntries(
          keys.map((key) => [key, { runtime: { [`lib/net8.0/${key.split('/')[0]}.dll`]: {} } }]),
        ),
      },
      libraries: Object.fromEntries(
        keys.map((key, at) => [
          key,
          {
            type: at === 0 ? 'project' : 'package',
            serviceable: at > 0,
            sha512: '',
            path: key.toLowerCase(),
          },
        ]),
      ),
    }),
  )
}
