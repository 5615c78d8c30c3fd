import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The rooms of the server, lowest first: a room may import the rooms above it in this list, and only those that `uses` names. The table of
 * docs/architecture.md is generated from it (`npm run golden -- tidy`).
 */
export interface Room {
  readonly name: string
  readonly holds: string
  /** Other rooms that it may import, each before it in the list; `main.ts` for the commands, one of which starts the server. */
  readonly uses: readonly string[]
  /** Packages that it may import besides those of Node, of the contract and `@bufbuild/protobuf`. */
  readonly libraries: readonly string[]
}

export const rooms: readonly Room[] = [
  {
    name: 'config',
    holds: 'settings and limits',
    uses: [],
    libraries: [],
  },
  {
    name: 'runtime',
    holds:
      'concurrency, caches, child processes, threads, outbound HTTP and the tracer interface; knows nothing of the domain',
    uses: ['config'],
    libraries: ['ipaddr.js', 'lru-cache', 'undici'],
  },
  {
    name: 'api',
    holds:
      'rules that every method follows: UIDs, fields, field masks, pages, order, etags, errors, messages',
    uses: ['config', 'runtime'],
    libraries: [],
  },
  {
    name: 'pipeline',
    holds: 'the request pipeline: rate limits, authentication, authorization, handler, observation',
    uses: ['config', 'runtime', 'api'],
    libraries: ['ipaddr.js', 'lru-cache', 'rate-limiter-flexible'],
  },
  {
    name: 'port',
    holds: 'sockets, TLS, HTTP/1.1 and HTTP/2, request and response bodies, drain and shutdown',
    uses: ['config', 'runtime', 'api', 'pipeline'],
    libraries: ['PRI', 'ipaddr.js'],
  },
  {
    name: 'gateway',
    holds: 'codecs of REST, gRPC and JSON; knows no resource',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port'],
    libraries: [],
  },
  {
    name: 'storage',
    holds: 'the database: engines, lists, changes, counts, jobs, migrations; knows no resource by name',
    uses: ['config', 'runtime', 'api', 'pipeline'],
    libraries: ['better-sqlite3', 'kysely', 'lru-cache', 'pg', 'rate-limiter-flexible'],
  },
  {
    name: 'mail',
    holds: 'email: the mail server of the operator, the queue of emails and their delivery',
    uses: ['config', 'runtime', 'api', 'storage'],
    libraries: ['nodemailer'],
  },
  {
    name: 'telemetry',
    holds: 'log, metrics, access log, traces',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'storage'],
    libraries: [
      '@opentelemetry/api',
      '@opentelemetry/context-async-hooks',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace',
      'pino',
      'prom-client',
    ],
  },
  {
    name: 'audit',
    holds: 'the audit log: recording, reading, export',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'gateway', 'storage'],
    libraries: [],
  },
  {
    name: 'tokens',
    holds: 'the token service: exchange, keys, issuers, refresh tokens, rules of trust in foreign tokens',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'storage'],
    libraries: ['ipaddr.js', 'jose', 'kysely', 'lru-cache', 're2js'],
  },
  {
    name: 'iam',
    holds: 'a file per resource of access management',
    uses: ['config', 'runtime', 'api', 'pipeline', 'storage', 'mail', 'tokens'],
    libraries: ['lru-cache'],
  },
  {
    name: 'registry',
    holds:
      'repositories and images: resources, OCI protocol, blob stores, garbage collection, scrub, policies, quota',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'gateway', 'storage', 'tokens', 'iam'],
    libraries: [
      '@aws-sdk/client-s3',
      '@aws-sdk/s3-request-presigner',
      'kysely',
      'lru-cache',
      'markdown-it',
      'sanitize-html',
    ],
  },
  {
    name: 'contents',
    holds: 'what images contain: reading SBOMs and layers, packages, and their API',
    uses: ['config', 'runtime', 'api', 'pipeline', 'storage', 'iam', 'registry'],
    libraries: ['kysely', 'packageurl-js'],
  },
  {
    name: 'policies',
    holds:
      'policies at pull: system policies, expressions, facts about images, bindings, overrides, decisions',
    uses: ['config', 'runtime', 'api', 'pipeline', 'storage', 'tokens', 'iam', 'registry'],
    libraries: ['@bufbuild/cel', 'lru-cache'],
  },
  {
    name: 'signatures',
    holds: 'signatures of images: verifiers of groups, the formats of cosign, sigstore and Notation',
    uses: ['config', 'runtime', 'api', 'pipeline', 'storage', 'tokens', 'iam', 'registry', 'policies'],
    libraries: ['@sigstore/bundle', '@sigstore/core', '@sigstore/verify', 'cborg', 'jose', 'lru-cache'],
  },
  {
    name: 'advisories',
    holds: 'advisories: services, import, search, feeds, publication',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'gateway', 'storage', 'iam'],
    libraries: ['kysely', 'lru-cache', 'packageurl-js'],
  },
  {
    name: 'findings',
    holds: 'vulnerabilities of images: packages matched with advisories',
    uses: [
      'config',
      'runtime',
      'api',
      'pipeline',
      'storage',
      'iam',
      'registry',
      'contents',
      'policies',
      'advisories',
    ],
    libraries: [],
  },
  {
    name: 'osv',
    holds: "OSV's API: queries of scanners about packages, answered from advisories",
    uses: [
      'config',
      'runtime',
      'api',
      'pipeline',
      'port',
      'gateway',
      'storage',
      'iam',
      'advisories',
      'findings',
    ],
    libraries: [],
  },
  {
    name: 'search',
    holds: 'search over all resources, and names by UID',
    uses: ['config', 'api', 'pipeline', 'storage', 'iam', 'advisories'],
    libraries: [],
  },
  {
    name: 'signin',
    holds: 'sign-in pages, accounts, OAuth server, sign-in providers; loaded with the first request to them',
    uses: ['config', 'runtime', 'api', 'pipeline', 'port', 'storage', 'mail', 'audit', 'tokens', 'iam'],
    libraries: [
      '@simplewebauthn/server',
      '@zxcvbn-ts/core',
      '@zxcvbn-ts/language-common',
      'hono',
      'jose',
      'kysely',
      'lru-cache',
      'openid-client',
    ],
  },
  {
    name: 'v1',
    holds: 'version 1 of the API, mapped to the newer methods',
    uses: ['config', 'api', 'pipeline', 'storage', 'iam', 'registry', 'contents', 'findings'],
    libraries: [],
  },
  {
    name: 'installation',
    holds: 'the data directory, keys on disk, identity of the stores, checks at start',
    uses: [
      'config',
      'runtime',
      'api',
      'pipeline',
      'port',
      'gateway',
      'storage',
      'mail',
      'telemetry',
      'audit',
      'tokens',
      'iam',
      'registry',
      'signin',
      'v1',
    ],
    libraries: [],
  },
  {
    name: 'reference',
    holds: 'the description of the API: OpenAPI and its pages',
    uses: ['config', 'api', 'port', 'gateway', 'iam'],
    libraries: [],
  },
  {
    name: 'operator',
    holds: 'what operators do, by command and by API: bootstrap, accounts, keys, sessions, backup, check',
    uses: [
      'config',
      'runtime',
      'api',
      'pipeline',
      'port',
      'storage',
      'mail',
      'telemetry',
      'tokens',
      'iam',
      'registry',
      'signin',
      'installation',
    ],
    libraries: ['kysely'],
  },
  {
    name: 'serve',
    holds: 'the parts of a running server: services, adapters, background jobs, listeners, stop order',
    uses: [
      'config',
      'runtime',
      'api',
      'pipeline',
      'port',
      'gateway',
      'storage',
      'mail',
      'telemetry',
      'audit',
      'tokens',
      'iam',
      'registry',
      'contents',
      'policies',
      'signatures',
      'advisories',
      'findings',
      'osv',
      'search',
      'signin',
      'v1',
      'installation',
      'reference',
      'operator',
    ],
    libraries: [],
  },
  {
    name: 'workers',
    holds:
      'several processes of one server: their supervisor, its connections and metrics, and what they send each other',
    uses: ['config', 'runtime', 'port', 'storage', 'telemetry'],
    libraries: [],
  },
  {
    name: 'commands',
    holds: 'the commands of the operator: serve, migrate, admin',
    uses: [
      'config',
      'runtime',
      'api',
      'port',
      'storage',
      'mail',
      'telemetry',
      'registry',
      'signin',
      'installation',
      'operator',
      'workers',
      'main.ts',
    ],
    libraries: ['@inquirer/prompts'],
  },
]

/** Files of packages/server/src/ outside of rooms: the start of the server, and the way of requests. They may import every room. */
export const looseFiles = ['main.ts', 'server.ts']

/** The number of files that a folder may have before it needs sub-folders; unit tests do not count. */
export const FILES_PER_FOLDER_MAX = 15

/** The other packages, and what each may import besides itself. */
export const packages: Readonly<
  Record<string, { readonly holds: string; readonly uses: readonly string[] }>
> = {
  contract: {
    holds: 'the schema (`proto/`), the code generated from it (`gen/`), capabilities and media types',
    uses: [],
  },
  'advisory-formats': {
    holds: 'readers and writers of OSV, Wolfi, secdb, OpenVEX and CSAF, without I/O',
    uses: ['contract'],
  },
  look: { holds: 'the look of web pages: design tokens, base style rules and icon', uses: [] },
  client: { holds: 'the published client of the REST API, for browsers and Node', uses: [] },
  workloads: {
    holds: 'workload identities: rules of platforms, workflows and pull tokens; for browsers and Node',
    uses: ['client'],
  },
  'package-versions': {
    holds: 'the version order of package ecosystems and the ranges of OSV, without I/O',
    uses: [],
  },
  'image-contents': {
    holds:
      'packages of images: readers of SBOMs, layers and package databases, writers of SPDX and CycloneDX',
    uses: ['package-versions', 'advisory-formats', 'contract'],
  },
  console: {
    holds: 'the web console, built into files that the server sends',
    uses: ['client', 'look', 'workloads', 'advisory-formats'],
  },
  cli: {
    holds: 'the command line, and the client of OCI registries',
    uses: ['client', 'contract', 'look', 'workloads', 'advisory-formats'],
  },
  server: {
    holds: 'the server, and the commands of its operator',
    uses: ['contract', 'look', 'advisory-formats', 'package-versions', 'image-contents', 'cli'],
  },
}

const SERVER = 'packages/server/src/'

export interface Import {
  readonly file: string
  /** A path of this repository, or the name of a package. */
  readonly target: string
}

/** Every import of a source file that is shipped, types included. */
export function importsOf(files: readonly string[]): Import[] {
  return files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:(?<!')\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)].map(
      ([, name = '']) => ({
        file,
        target: pathOf(file, name),
      }),
    ),
  )
}

function pathOf(file: string, name: string): string {
  if (name.startsWith('.')) return join(dirname(file), name)
  const own = /^@berth\/([^/]+)(?:\/(.*))?$/.exec(name)
  if (own === null) return name
  const [, packageName = '', path = ''] = own
  return path.startsWith('gen/') ? `packages/${packageName}/${path}` : `packages/${packageName}/src/${path}`
}

/** The room of the server that a path is in; undefined for what is in no room. */
export function roomOf(path: string): string | undefined {
  return path.startsWith(SERVER) && path.slice(SERVER.length).includes('/')
    ? path.slice(SERVER.length).split('/')[0]
    : undefined
}

export function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1]
}

/** Source files that are shipped. */
export function shippedFiles(): string[] {
  return globSync('packages/*/src/**/*.ts').filter((file) => !file.endsWith('.test.ts'))
}

/** The table of docs/architecture.md. */
export function roomTable(): string {
  const rows = [
    ...Object.entries(packages)
      .filter(([name]) => name !== 'server')
      .map(
        ([name, { holds, uses }]) =>
          [`packages/${name}`, holds, uses.map((use) => `packages/${use}`)] as const,
      ),
    ...rooms.map(({ name, holds, uses }) => [`server/src/${name}`, holds, uses] as const),
  ]
  return [
    '| Room | Holds | May import |',
    '|---|---|---|',
    ...rows.map(
      ([name, holds, uses]) =>
        `| \`${name}/\` | ${holds} | ${uses.map((use) => `\`${use}\``).join(', ') || 'nothing'} |`,
    ),
  ].join('\n')
}
