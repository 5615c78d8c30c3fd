import assert from 'node:assert/strict'
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../../../scripts/free-port.ts'
import { linkOf, type WebPage, webBrowser } from '../browser/web-browser.ts'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'
import type { OpenIdProviderSetup } from './openid-provider-server.ts'

/** OpenID providers with different habits, each in a process of its own on loopback. */

export interface ProviderClient {
  readonly id: string
  readonly secret: string
  readonly redirectUris: readonly string[]
}

export interface ProviderUser {
  /** What the user types: a name, an email address for Dex. */
  readonly login: string
  readonly password: string
  /** As the provider reports them. */
  readonly email: string
  readonly groups: readonly string[]
}

/** A provider whose issuer is known, and which runs after `start`. */
export interface ProviderProcess {
  readonly issuer: string
  readonly users: readonly [ProviderUser, ProviderUser]
  start(clients: readonly ProviderClient[]): Promise<void>
}

export interface ProviderKind {
  readonly name: string
  /** Whether its responses name it (RFC 9207). */
  readonly namesIssuer: boolean
  /** Scope for which it reports groups. */
  readonly groupsScope: string
  /** Downloads or builds it into a cache; returns why it cannot be had, undefined if it can. */
  prepare(): Promise<string | undefined>
  reserve(t: Cleanup): Promise<ProviderProcess>
}

export const providerSecret = 'a-secret-of-this-test-alone'
const START_MS = 5 * 60_000
const POLL_MS = 250
const PREPARE_MS = 20 * 60_000
const run = promisify(execFile)

/** `oidc-provider` of npm; without `iss` where `namesIssuer` is false. */
export function nodeProvider(namesIssuer = true): ProviderKind {
  const users = [
    { login: 'ada', password: 'any', email: 'ada@acme.example', groups: ['staff'] },
    { login: 'bob', password: 'any', email: 'bob@acme.example', groups: [] },
  ] as const
  return {
    name: namesIssuer ? 'oidc-provider' : 'oidc-provider without iss',
    namesIssuer,
    groupsScope: 'groups',
    prepare: async () => undefined,
    async reserve(t) {
      const child = fork(fileURLToPath(new URL('./openid-provider-server.ts', import.meta.url)), {
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      t.after(() => void child.kill())
      const [{ issuer }] = (await once(child, 'message')) as [{ readonly issuer: string }]
      return {
        issuer,
        users,
        async start(clients) {
          const ready = once(child, 'message')
          child.send({
            namesIssuer,
            clients: clients.map(({ id, secret, redirectUris }) => ({
              client_id: id,
              client_secret: secret,
              redirect_uris: [...redirectUris],
            })),
            users: Object.fromEntries(
              users.map(({ login, email, groups }) => [login, { email, email_verified: true, groups }]),
            ),
          } satisfies OpenIdProviderSetup)
          await ready
        },
      }
    },
  }
}

/** Commit of Dex 2.41.1: its tags are no versions of a Go module. */
const DEX = 'v0.0.0-20240807174518-43956db7fd75'
const DEX_API = 'v2.2.0'
/** bcrypt of `password`. */
const DEX_HASH = '$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W'

/** Dex, built from its Go module: no `iss`, a choice of connectors, a page that asks for approval. */
export const dex: ProviderKind = {
  name: 'Dex',
  namesIssuer: false,
  groupsScope: 'groups',
  async prepare() {
    if (existsSync(cached('dex'))) return undefined
    const module = cached('dex-module')
    mkdirSync(module, { recursive: true })
    writeFileSync(join(module, 'go.mod'), 'module berth.test/dex\n\ngo 1.24\n')
    const go = (...args: string[]) =>
      run('go', args, { cwd: module, env: { ...process.env, GOFLAGS: '-mod=mod' }, timeout: PREPARE_MS })
    try {
      await go('get', `github.com/dexidp/dex@${DEX}`, `github.com/dexidp/dex/api/v2@${DEX_API}`)
      await go('build', '-o', cached('dex'), 'github.com/dexidp/dex/cmd/dex')
    } catch (error) {
      return `Dex cannot be built: ${(error as Error).message.slice(0, 500)}`
    }
    return undefined
  },
  async reserve(t) {
    const port = await freePort()
    const issuer = `http://127.0.0.1:${port}/dex`
    return {
      issuer,
      users: [
        // Its connector for tests, the only one with groups that needs no other server.
        { login: '', password: '', email: 'kilgore@kilgore.trout', groups: ['authors'] },
        { login: 'bob@acme.example', password: 'password', email: 'bob@acme.example', groups: [] },
      ],
      async start(clients) {
        const file = join(temporaryDirectory(t), 'dex.json')
        writeFileSync(
          file,
          JSON.stringify({
            issuer,
            storage: { type: 'memory' },
            web: { http: `127.0.0.1:${port}` },
            connectors: [{ type: 'mockCallback', id: 'mock', name: 'Example' }],
            enablePasswordDB: true,
            staticPasswords: [{ email: 'bob@acme.example', hash: DEX_HASH, username: 'bob', userID: 'b0b' }],
            staticClients: clients.map(({ id, secret, redirectUris }) => ({
              id,
              secret,
              name: id,
              redirectURIs: redirectUris,
            })),
          }),
        )
        await startProgram(t, issuer, cached('dex'), ['serve', file])
      },
    }
  },
}

const KEYCLOAK = '26.0.7'

/** Keycloak, from its distribution at Maven Central: `iss`, proof keys, groups by a mapper of the client. */
export const keycloak: ProviderKind = {
  name: 'Keycloak',
  namesIssuer: true,
  groupsScope: 'profile',
  async prepare() {
    if (existsSync(cached(`keycloak-${KEYCLOAK}`))) return undefined
    mkdirSync(cached(''), { recursive: true })
    try {
      await run('java', ['-version'])
      await run(
        'mvn',
        [
          '-q',
          '-B',
          'dependency:unpack',
          `-Dartifact=org.keycloak:keycloak-quarkus-dist:${KEYCLOAK}:zip`,
          `-DoutputDirectory=${cached('')}`,
        ],
        { cwd: cached(''), timeout: PREPARE_MS },
      )
    } catch (error) {
      return `Keycloak cannot be had: ${(error as Error).message.slice(0, 500)}`
    }
    return undefined
  },
  async reserve(t) {
    const port = await freePort()
    const issuer = `http://127.0.0.1:${port}/realms/acme`
    const users = [
      { login: 'ada', password: 'ada-password', email: 'ada@acme.example', groups: ['staff'] },
      { login: 'bob', password: 'bob-password', email: 'bob@acme.example', groups: [] },
    ] as const
    return {
      issuer,
      users,
      async start(clients) {
        // It writes its database below its home.
        const home = join(temporaryDirectory(t), 'keycloak')
        cpSync(cached(`keycloak-${KEYCLOAK}`), home, { recursive: true })
        mkdirSync(join(home, 'data', 'import'), { recursive: true })
        writeFileSync(
          join(home, 'data', 'import', 'acme-realm.json'),
          JSON.stringify(keycloakRealm(clients, users)),
        )
        const script = join(home, 'bin', 'kc.sh')
        await startProgram(t, issuer, 'bash', [
          script,
          'start-dev',
          '--http-host=127.0.0.1',
          `--http-port=${port}`,
          '--import-realm',
          '--cache=local',
        ])
      },
    }
  },
}

function keycloakRealm(clients: readonly ProviderClient[], users: readonly ProviderUser[]): object {
  return {
    realm: 'acme',
    enabled: true,
    sslRequired: 'none',
    groups: [{ name: 'staff' }],
    clients: clients.map(({ id, secret, redirectUris }) => ({
      clientId: id,
      secret,
      enabled: true,
      protocol: 'openid-connect',
      publicClient: false,
      standardFlowEnabled: true,
      redirectUris,
      protocolMappers: [
        {
          name: 'groups',
          protocol: 'openid-connect',
          protocolMapper: 'oidc-group-membership-mapper',
          config: { 'claim.name': 'groups', 'full.path': 'false', 'id.token.claim': 'true' },
        },
      ],
    })),
    users: users.map(({ login, password, email, groups }) => ({
      username: login,
      enabled: true,
      email,
      emailVerified: true,
      firstName: login,
      lastName: 'Example',
      groups: groups.map((group) => `/${group}`),
      credentials: [{ type: 'password', value: password, temporary: false }],
    })),
  }
}

/** Follows a sign-in at a provider through its pages; returns the address that it sends the browser back to. */
export async function signInAt(start: URL, { login, password }: ProviderUser): Promise<URL> {
  const browser = webBrowser(start.origin)
  const answer = (page: WebPage): Promise<WebPage> => {
    const at = page.forms.findIndex(({ fields }) => 'password' in fields)
    const typed = page.forms[at]
    if (typed !== undefined) {
      const name = ['login', 'username'].find((field) => field in typed.fields) ?? assert.fail(page.text)
      return browser.submit(page, { [name]: login, password }, at)
    }
    // Dex asks how to sign in.
    const link = linkOf(page, new RegExp(`href="([^"]*/auth/${login === '' ? 'mock' : 'local'}\\?[^"]*)"`))
    return link === undefined ? browser.submit(page) : browser.open(link)
  }
  let page = await browser.open(start.href)
  for (let steps = 0; page.redirectedTo === undefined; steps++) {
    assert.ok(page.status < 400 && steps < 8, `${start.origin} does not sign in: ${page.status} ${page.text}`)
    page = await answer(page)
  }
  return page.redirectedTo
}

/** The provider of an attacker (malicious-provider-server.ts). */
export interface MaliciousProvider {
  readonly issuer: string
  /** Where it sends browsers from now on, with the state that they have. */
  forward(address: URL): Promise<void>
  /** Bodies that its token endpoint received. */
  received(): readonly string[]
}

export async function startMaliciousProvider(
  t: Cleanup,
  { promisesIss }: { readonly promisesIss: boolean },
): Promise<MaliciousProvider> {
  const script = fileURLToPath(new URL('./malicious-provider-server.ts', import.meta.url))
  const child = fork(script, promisesIss ? ['iss'] : [], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  t.after(() => void child.kill())
  const [{ issuer }] = (await once(child, 'message')) as [{ readonly issuer: string }]
  let received: readonly string[] = []
  child.on('message', (message: { readonly received: readonly string[] }) => {
    received = message.received
  })
  return {
    issuer,
    async forward(address) {
      const answered = once(child, 'message')
      child.send({ forward: address.href })
      await answered
    },
    received: () => received,
  }
}

function cached(name: string): string {
  return join(process.env['BERTH_TEST_PROVIDERS'] ?? join(homedir(), '.cache', 'berth-test-providers'), name)
}

/** Starts a server and waits for the discovery document. Fails with the end of what it printed. */
async function startProgram(
  t: Cleanup,
  issuer: string,
  command: string,
  args: readonly string[],
): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  t.after(() => stopGroup(child))
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-4000)
    })
  const deadline = performance.now() + START_MS
  for (;;) {
    const ready = await fetch(`${issuer}/.well-known/openid-configuration`).then(
      async (response) => response.ok && (await response.text()) !== '',
      () => false,
    )
    if (ready) return
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`${command} ${args.join(' ')} does not start: ${printed}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

/** The process and those that it started. */
async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const closed = once(child, 'close')
  process.kill(-child.pid, 'SIGKILL')
  await closed
}
