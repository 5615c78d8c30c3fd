// Installs the tarball of Berth for the image: `node install.js <directory with the tarball> <output>`. Plain JavaScript: it runs in the
// build stage. It removes files that the server does not read, about half of the installed size.
const { execFileSync } = require('node:child_process')
const {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} = require('node:fs')
const { dirname, join } = require('node:path')

const [, , source, output] = process.argv
const arch = { amd64: 'x64', arm64: 'arm64' }[process.env.TARGETARCH]
if (arch === undefined) throw new Error(`no image for TARGETARCH=${process.env.TARGETARCH}`)
const [tarball, ...others] = globSync('berth-[0-9]*.tgz', { cwd: source })
if (tarball === undefined || others.length > 0)
  throw new Error(`dist/tarballs must contain one berth-<version>.tgz: npm run pack -- dist/tarballs`)

const prefix = '/opt/berth'
const root = join(output, 'root')
const app = join(root, prefix)
mkdirSync(app, { recursive: true })
mkdirSync(join(output, 'data'), { recursive: true })
writeFileSync(join(app, 'package.json'), '{"private":true}\n')
const flags = [
  '--omit=dev',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--os=linux',
  `--cpu=${arch}`,
  '--libc=glibc',
]
// By its path: a base without /usr/bin/env cannot run `npm`.
const npm = join(dirname(process.execPath), '../lib/node_modules/npm/bin/npm-cli.js')
execFileSync(process.execPath, [npm, 'install', ...flags, join(source, tarball)], {
  cwd: app,
  stdio: 'inherit',
})

const modules = join(app, 'node_modules')
const node = `node-linux-${arch}`
const unused = [
  `${node}/{include,share,CHANGELOG.md}`,
  'better-sqlite3/{deps,src}',
  `better-sqlite3/prebuilds/!(linux-${arch}).node`,
  '**/*.{map,d.ts,d.mts,d.cts}',
  '**/{CHANGELOG,HISTORY,CHANGES}.md',
]
for (const file of unused.flatMap((pattern) => globSync(pattern, { cwd: modules })))
  rmSync(join(modules, file), { recursive: true, force: true })

// The base has no /usr/bin/env for the first line of the program.
const program = join(modules, 'berth/bin/berth.js')
writeFileSync(program, readFileSync(program, 'utf8').replace(/^#!.*/, '#!/usr/local/bin/node'), {
  mode: 0o755,
})
cpSync(join(__dirname, 'health.js'), join(app, 'health.js'))

// The init, a static program of the Debian package tini, and what scanners read about the package.
const init = '/usr/bin/tini-static'
if (!existsSync(init)) {
  execFileSync('apt-get', ['-qq', 'update'], { stdio: 'inherit' })
  execFileSync('apt-get', ['-qq', '--yes', '--no-install-recommends', 'install', 'tini'], {
    stdio: 'inherit',
  })
}
mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
cpSync(init, join(root, 'usr/local/bin/tini'))
const packageStatus = 'var/lib/dpkg/status.d/tini'
mkdirSync(join(root, dirname(packageStatus)), { recursive: true })
writeFileSync(
  join(root, packageStatus),
  existsSync(join('/', packageStatus))
    ? readFileSync(join('/', packageStatus))
    : execFileSync('dpkg', ['--status', 'tini']),
)

const link = (name, target) => {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  symlinkSync(join(prefix, 'node_modules', target), join(root, name))
}
link('/usr/local/bin/node', `${node}/bin/node`)
link('/usr/local/bin/berth', 'berth/bin/berth.js')
link('/usr/local/bin/docker-credential-berth', 'berth/bin/berth.js')
