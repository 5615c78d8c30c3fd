import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../scripts/free-port.ts'
import { bindRole, createGroup, createIdentity, createResource, createRole } from '../api/tenant.ts'
import { basicAuth, ociClient, pushImage, testImage } from '../registry/registry.ts'
import {
  built,
  type Cleanup,
  runBerth,
  type Serving,
  serveBerth,
  temporaryDirectory,
} from '../server/process.ts'
import type { Caller, Target } from './hostile-case.ts'
import { type Measured, PROBE_SOCKET } from './probe.ts'

/** The server that is attacked: a process with the probe in it, on SQLite, that can be started again as it was. */
export interface AttackedServer {
  readonly target: Target
  /** Starts to measure. */
  reset(): Promise<void>
  read(): Promise<Measured>
  /** Lines that the process logged as errors since the last question for them. */
  newErrors(): readonly string[]
  /** Whether the process runs. */
  isRunning(): boolean
  /** Kills the process and starts it again on the same data and port. */
  restart(): Promise<void>
}

const probe = fileURLToPath(new URL('probe.ts', import.meta.url))
/** Longest time in ms for which a frozen server is waited for. */
const PROBE_WAIT_MS = 60_000

export async function startAttackedServer(t: Cleanup): Promise<AttackedServer> {
  const host = `127.0.0.1:${await freePort()}`
  const directory = temporaryDirectory(t)
  const socket = join(directory, 'probe')
  const env = {
    BERTH_DATA_DIR: directory,
    BERTH_LISTEN: host,
    BERTH_LOG_LEVEL: 'error',
    [PROBE_SOCKET]: socket,
    BERTH_DRAIN_DELAY: '0s',
  }
  const nodeArgs = ['--expose-gc', '--import', probe]
  const start = () => serveBerth(t, env, [], { nodeArgs, as: built })
  let server: Serving = await start()
  let linesRead = 0
  const url = `http://${host}`
  const target = await newTarget(t, url, env)
  await warmUp(target)

  const ask = async (command: string): Promise<unknown> => {
    const connection = connect(socket)
    const timer = setTimeout(() => connection.destroy(new Error('the probe does not answer')), PROBE_WAIT_MS)
    try {
      const line = once(createInterface(connection), 'line')
      connection.write(`${command}\n`)
      const failed = once(connection, 'error').then(([error]) => Promise.reject(error))
      return JSON.parse(String(await Promise.race([line.then(([text]) => text), failed])))
    } finally {
      clearTimeout(timer)
      connection.destroy()
    }
  }
  return {
    target,
    reset: async () => void (await ask('reset')),
    read: async () => (await ask('read')) as Measured,
    newErrors() {
      const lines = server.output().stderr.split('\n')
      const unread = lines.slice(linesRead)
      // The last one may not be whole yet.
      linesRead = lines.length - 1
      return unread.filter((line) => line !== '')
    },
    isRunning: () => server.child.exitCode === null && server.child.signalCode === null,
    async restart() {
      server.child.kill('SIGKILL')
      await server.finished
      server = await start()
      linesRead = 0
      await warmUp(target)
    },
  }
}

async function newTarget(t: Cleanup, url: string, env: Readonly<Record<string, string>>): Promise<Target> {
  const { host } = new URL(url)
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], env)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const organization: string = JSON.parse(await admin('bootstrap', '--json')).organization.uid
  const owner = { url, token: await admin('token') }
  const group = await createGroup(owner, organization, 'attacked')
  const stranger = await createIdentity(owner, group, undefined, 'stranger')
  const pusher = await createIdentity(owner, group, undefined, 'pusher')
  await bindRole(owner, group, pusher, 'registry.push')
  await bindRole(owner, group, pusher, 'editor')
  // What else makes the server read a large request: importing advisories, and granting roles.
  const role = await createRole(owner, organization, costly, 'costly')
  await bindRole(owner, group, pusher, role)
  const { uid: repo } = await createResource(owner, `/registry/v2beta1/repos/${group}`, { name: 'image' })
  const repoPath = `${organization}/attacked/image`
  const tokens = await Promise.all(
    [stranger, pusher].map(async (identity) => ({
      api: await admin('token', '--identity', identity),
      registry: await admin('token', '--identity', identity, '--audience', host),
    })),
  )
  const image = testImage()
  const client = ociClient({ url }, `Bearer ${tokens[1]?.registry}`)
  await pushImage(client, repoPath, image, 'latest')
  const config = JSON.parse(image.manifest.toString()).config.digest
  const ofOperator = { api: owner.token, registry: await admin('token', '--audience', host) }
  const byCaller = { 'no role': tokens[0], pusher: tokens[1], operator: ofOperator } as Target['tokens']
  return {
    url,
    host,
    organization,
    group,
    identity: stranger,
    role,
    repo,
    repoPath,
    imageDigest: image.digest,
    configDigest: config,
    tokens: byCaller,
    bearer: (caller: Caller, audience = 'api') =>
      caller === 'anonymous' ? undefined : `Bearer ${byCaller[caller][audience]}`,
  }
}

const costly = [
  'advisories.create',
  'advisories.update',
  'advisories.delete',
  'advisories.list',
  'identity.create',
  'identity.update',
  'identity_providers.create',
  'role_bindings.create',
  'roles.create',
]

/** One plain request through every entrance: what a process loads with the first of them is no cost of an attack. */
async function warmUp({ url, group, repo, repoPath, tokens }: Target): Promise<void> {
  const authorization = `Bearer ${tokens.pusher.api}`
  const registry = `Bearer ${tokens.pusher.registry}`
  const json = { authorization, 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const patterns = { issuerPattern: 'https://ci\\.example\\.com/[a-z]+', subject: 'x' }
  const requests: readonly (readonly [path: string, init?: RequestInit])[] = [
    ['/docs'],
    ['/openapi.json'],
    ['/metrics'],
    ['/sign-in'],
    ['/sign-in/password', { method: 'POST', headers: form, body: 'email=a' }],
    ['/oauth/token', { method: 'POST', headers: form, body: 'grant_type=refresh_token' }],
    ['/token?service=x', { headers: { authorization: basicAuth('_token', 'x') } }],
    ['/sts/exchange?aud=x', { headers: { authorization: 'Bearer a.b.c' } }],
    [`/iam/v2beta1/groups/${group}`, { headers: json }],
    [`/iam/v1/groups`, { headers: json }],
    [
      `/iam/v2beta1/identities/${group}`,
      { method: 'POST', headers: json, body: JSON.stringify({ claimMatch: patterns }) },
    ],
    [`/registry/v2beta1/repos/${repo}/readme`, { method: 'PATCH', headers: json, body: '{"content":"# x"}' }],
    [
      `/vulnerabilities/v2beta1/advisories/${group}:importDocuments`,
      { method: 'POST', headers: json, body: '{"documents":[{"content":"e30="}]}' },
    ],
    [`/v2/${repoPath}/manifests/latest`, { headers: { authorization: registry } }],
    [`/v2/${repoPath}/manifests/x`, { method: 'PUT', headers: { authorization: registry }, body: '{}' }],
    ['/audit/v1/events:export', { headers: json }],
  ]
  for (let round = 0; round < 3; round++)
    for (const [path, init] of requests) await (await fetch(url + path, init)).arrayBuffer()
}
