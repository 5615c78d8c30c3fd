import { chmodSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../release/run.ts'

/** A file system with the Debian packages that Node needs, and nothing else: no shell, no package manager. */

const SUITE = 'bookworm'
const MIRROR = 'http://deb.debian.org'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const packages = [
  'base-files',
  'ca-certificates',
  'gcc-12-base',
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'netbase',
  'tzdata',
]
/** The user of the image, with the number of other images without a shell. */
const IMAGE_USER = 65_532

export interface DebianPackage {
  readonly name: string
  readonly version: string
  readonly architecture: string
}

/** Creates the file system in `root`. Changes nothing of this machine. */
export function createBase(directory: string, root: string, architecture: string): readonly DebianPackage[] {
  const installed = unpackPackages(directory, root, architecture, packages)
  complete(root)
  return installed
}

/** Adds the init of the image to the file system of its build stage, which copies it. */
export function addInit(directory: string, root: string, architecture: string): readonly DebianPackage[] {
  return unpackPackages(directory, root, architecture, ['tini'])
}

/** Downloads the packages with apt, which verifies their signatures, and unpacks them into `root`. */
function unpackPackages(
  directory: string,
  root: string,
  architecture: string,
  names: readonly string[],
): readonly DebianPackage[] {
  const state = join(directory, 'apt')
  for (const name of ['lists/partial', 'archives/partial', 'packages'])
    mkdirSync(join(state, name), { recursive: true })
  writeFileSync(join(state, 'status'), '')
  const source = (path: string, suite: string) =>
    `deb [signed-by=${KEYRING}] ${MIRROR}/${path} ${suite} main\n`
  writeFileSync(
    join(state, 'sources.list'),
    `${source('debian', SUITE)}${source('debian-security', `${SUITE}-security`)}`,
  )
  const options = {
    'Dir::State::lists': join(state, 'lists'),
    'Dir::State::status': join(state, 'status'),
    'Dir::Etc::sourcelist': join(state, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::Cache': state,
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
  }
  const settings = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  const apt = (...args: string[]) => run('apt-get', [...settings, '-qq', ...args], join(state, 'packages'))
  apt('update')
  apt('download', ...names)
  mkdirSync(root, { recursive: true })
  return readdirSync(join(state, 'packages'))
    .sort()
    .map((file) => unpack(join(state, 'packages', file), root))
}

function unpack(file: string, root: string): DebianPackage {
  run('dpkg-deb', ['-x', file, root])
  const control = run('dpkg-deb', ['-f', file]).trim()
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(control)?.[1] ?? ''
  const name = field('Package')
  // Scanners read the packages of images without dpkg here.
  const status = join(root, 'var/lib/dpkg/status.d')
  mkdirSync(status, { recursive: true })
  writeFileSync(join(status, name), `${control}\n`)
  return { name, version: field('Version'), architecture: field('Architecture') }
}

/** What the packages do when dpkg installs them, and the user. */
function complete(root: string): void {
  const certificates = globSync('usr/share/ca-certificates/mozilla/*.crt', { cwd: root }).sort()
  mkdirSync(join(root, 'etc/ssl/certs'), { recursive: true })
  writeFileSync(
    join(root, 'etc/ssl/certs/ca-certificates.crt'),
    certificates.map((file) => readFileSync(join(root, file), 'utf8')).join(''),
  )
  const user = `nonroot:x:${IMAGE_USER}:${IMAGE_USER}:nonroot:/home/nonroot:/usr/sbin/nologin\n`
  writeFileSync(join(root, 'etc/passwd'), `root:x:0:0:root:/root:/usr/sbin/nologin\n${user}`)
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nnonroot:x:${IMAGE_USER}:\n`)
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  for (const file of globSync('usr/share/{man,lintian,bug,locale}', { cwd: root }))
    rmSync(join(root, file), { recursive: true })
  mkdirSync(join(root, 'tmp'), { recursive: true })
  chmodSync(join(root, 'tmp'), 0o1777)
}
