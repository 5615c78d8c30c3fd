import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { Program, ProgramReady } from '../children/program.ts'
import { ORGANIZATION, parentsOf, someGroups } from '../dataset.ts'
import { type Goal, goals } from '../goals.ts'
import { cycle, type HttpTarget, httpClient, httpLoad, request } from '../http-load.ts'
import { type RegistryClient, registryClient } from '../registry/client.ts'
import { blobOf, imageOf, newBlobs } from '../registry/content.ts'
import { distribution } from '../registry/distribution.ts'
import { makePublic, type Registry, registrySide, registryToken } from '../registry/registries.ts'
import { inTurn, type Measured, rateRatio } from '../rounds.ts'

/**
 * Berth beside other servers, whose binaries the environment names: the registries Zot and Distribution, and PocketBase for resources. All
 * run on the same core, with the same content, in turn; the ratio is that of the medians of their rates.
 */

const MB = 1_000_000
const REPO = 'bench/speed'
const CONNECTIONS = 16
const DIFFERENT = 500

/** How many pushes the note of a push is about. */
const PUSHES = 12

export async function measurePeers(bench: Bench): Promise<Result[]> {
  const zot = binaryOf(bench, 'BERTH_BENCH_ZOT')
  const registry = binaryOf(bench, 'BERTH_BENCH_DISTRIBUTION')
  const pocketbase = binaryOf(bench, 'BERTH_BENCH_POCKETBASE')
  const results: Result[] = []
  const programs: [string, Program][] = []
  if (zot !== undefined) programs.push(['Zot', zotProgram(zot, bench.scratch())])
  if (registry !== undefined) programs.push(['Distribution', distribution(registry, bench.scratch())])
  if (programs.length > 0) {
    results.push(...(await besideRegistries(bench, programs)))
    await bench.stopChildren()
  }
  if (pocketbase !== undefined) results.push(...(await besidePocketBase(bench, pocketbase)))
  return results
}

/** Undefined, with a line that says so, if the variable does not name a program. */
function binaryOf(bench: Bench, variable: string): string | undefined {
  const path = process.env[variable]
  if (path !== undefined && existsSync(path)) return path
  bench.say(
    `  not measured: ${variable} ${path === undefined ? 'is not set' : `is ${path}, which does not exist`}`,
  )
  return undefined
}

function zotProgram(binary: string, dir: string): Program {
  const configuration = {
    distSpecVersion: '1.1.1',
    storage: { rootDirectory: '{dir}/data' },
    http: { address: '127.0.0.1', port: '{port}' },
    log: { level: 'error' },
  }
  return {
    command: binary,
    args: ['serve', '{dir}/config.json'],
    dir,
    files: { 'config.json': JSON.stringify(configuration) },
  }
}

async function besideRegistries(
  bench: Bench,
  programs: readonly (readonly [string, Program])[],
): Promise<Result[]> {
  const berth = await bench.startBerth(bench.copyOf(await bench.dataSet(bench.sizes.small)))
  const { port, token } = berth.ready
  await makePublic(port, token, ORGANIZATION)
  const ours: Registry = {
    ...{ name: 'Berth', child: berth, port },
    authorization: await registryToken(port, token, [REPO]),
  }
  const publicly: Registry = { ...ours, name: 'Berth, public repo', authorization: undefined }
  const peers: Registry[] = []
  for (const [name, program] of programs) {
    const child = await bench.start<ProgramReady>('program', program)
    peers.push({ name, child, port: child.ready.port, authorization: undefined })
  }
  const config = blobOf(Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: {} })))
  const newLayer = newBlobs(MB)
  const layers = [newLayer()]
  const image = imageOf(config, layers)
  const large = blobOf(randomBytes(10 * MB))
  for (const registry of [ours, ...peers]) {
    const http = await httpClient(registry.port)
    const client = registryClient(http, REPO, registry.authorization)
    for (const blob of [config, ...layers, large]) await client.pushAtOnce(blob)
    await client.putManifest(image, 'latest')
    http.close()
  }
  const results: Result[] = []
  const compare = async (
    title: string,
    connections: number,
    flow: (client: RegistryClient) => Promise<void>,
    { isPush = false, goal = goals.registry }: { readonly isPush?: boolean; readonly goal?: Goal } = {},
  ) => {
    const all = isPush ? [ours, ...peers] : [ours, ...peers, publicly]
    // What one registry has left to be written would slow the next one down.
    const before = () => void (isPush && spawnSync('sync'))
    const measured = await inTurn(
      bench,
      all.map((registry) => registrySide(registry, { title, repo: REPO, connections, flow, before })),
    )
    const [mine, ...others] = measured as [Measured, ...Measured[]]
    for (const [index, peer] of peers.entries()) {
      const theirs = others[index] as Measured
      const open = isPush ? undefined : others[peers.length]
      results.push(
        rateResult(`${title}, to ${peer.name}`, goal, mine, theirs, [
          open === undefined ? '' : `public repo ${(open.perSecond / theirs.perSecond).toFixed(2)}`,
          isPush
            ? `${PUSHES} pushes: ${(PUSHES / mine.perSecond).toFixed(2)} s and ${(PUSHES / theirs.perSecond).toFixed(2)} s; only Berth syncs`
            : '',
        ]),
      )
    }
  }
  await compare('manifest by tag', CONNECTIONS, (client) => client.skim('manifests/latest'), {
    goal: goals.manifestByTag,
  })
  await compare('manifest by digest', CONNECTIONS, (client) => client.skim(`manifests/${image.digest}`))
  await compare('blob of 10 MB', CONNECTIONS, (client) => client.skim(`blobs/${large.digest}`))
  await compare(
    'push of an image of 1 MB, one client',
    1,
    async (client) => {
      const layer = newLayer()
      for (const blob of [layer, config]) await client.pushAtOnce(blob)
      await client.putManifest(imageOf(config, [layer]), 'pushed')
    },
    { isPush: true },
  )
  return results
}

function rateResult(title: string, goal: Goal, ...compared: Parameters<typeof rateRatio>): Result {
  return { work: 'peers', title, goal, ...rateRatio(...compared) }
}

const PASSWORD = randomBytes(12).toString('hex')
const COLLECTION = '/api/collections/groups/records'

/** PocketBase checks the token of a user, and a rule that requires one; Berth checks the permissions of an identity in a tree of groups. */
async function besidePocketBase(bench: Bench, binary: string): Promise<Result[]> {
  const set = bench.sizes.small
  const berth = await bench.startBerth(bench.copyOf(await bench.dataSet(set)))
  const peer = await startPocketBase(bench, binary)
  const parents = parentsOf(set)
  const ids: string[] = []
  for (let index = 0; index < set.groups; index++)
    ids.push(await peer.create({ name: `group-${index}`, description: 'A group', parent: parents[0] }))

  const { port, token } = berth.ready
  const get = (path: string, bearer: string) => request('GET', path, { token: bearer })
  let last = 0
  const creation = (path: string, bearer: string, more: object) => () =>
    request('POST', path, {
      token: bearer,
      body: JSON.stringify({ name: `new-${++last}`, description: 'A group made by the benchmark', ...more }),
    })
  const list = `perPage=50&filter=${encodeURIComponent(`parent='${parents[0]}'`)}`
  const works: [title: string, connections: number, ours: () => Buffer, theirs: () => Buffer][] = [
    [
      'REST Get',
      64,
      cycle(someGroups(set, DIFFERENT).map((uid) => get(`/iam/v2beta1/groups/${uid}`, token))),
      cycle(ids.slice(0, DIFFERENT).map((id) => get(`${COLLECTION}/${id}`, peer.token))),
    ],
    [
      'REST List of 50 with the total',
      64,
      cycle([get(`/iam/v2beta1/groups?uidp.descendants_of=${parents[0]}`, token)]),
      cycle([get(`${COLLECTION}?${list}`, peer.token)]),
    ],
    [
      'REST Create, 16 at a time',
      16,
      creation(`/iam/v2beta1/groups/${parents[0]}`, token, {}),
      creation(COLLECTION, peer.token, { parent: parents[0] }),
    ],
  ]
  const results: Result[] = []
  for (const [title, connections, ours, theirs] of works) {
    const side = (name: string, child: Child, target: HttpTarget) => ({
      name: `${title}, ${name}`,
      child,
      load: (seconds: number) => httpLoad(target, connections, seconds),
    })
    const [mine, base] = (await inTurn(bench, [
      side('Berth', berth, { port, next: ours }),
      side('PocketBase', peer.child, { port: peer.port, next: theirs }),
    ])) as [Measured, Measured]
    results.push(
      rateResult(`${title}, to PocketBase`, goals.registry, mine, base, [
        title.includes('Create') ? 'PocketBase does not sync' : '',
      ]),
    )
  }
  return results
}

interface PocketBase {
  readonly child: Child
  readonly port: number
  readonly token: string
  create(group: object): Promise<string>
}

async function startPocketBase(bench: Bench, binary: string): Promise<PocketBase> {
  const dir = bench.scratch()
  const admin = { identity: 'admin@example.com', password: PASSWORD }
  const made = spawnSync(binary, ['superuser', 'upsert', admin.identity, PASSWORD, '--dir', `${dir}/data`])
  if (made.status !== 0) throw new Error(`PocketBase: ${made.stderr}`)
  const child = await bench.start<ProgramReady>('program', {
    command: binary,
    args: ['serve', '--http', '127.0.0.1:{port}', '--dir', '{dir}/data'],
    dir,
  } satisfies Program)
  const { port } = child.ready
  const http = await httpClient(port)
  const post = async (path: string, body: object, token?: string) => {
    const reply = await http.send(request('POST', path, { token, body: JSON.stringify(body) }))
    if (reply.status !== 200) throw new Error(`PocketBase answered ${reply.status} to ${path}: ${reply.body}`)
    return JSON.parse(reply.body) as { readonly token: string; readonly id: string }
  }
  const { token: adminToken } = await post('/api/collections/_superusers/auth-with-password', admin)
  const rule = '@request.auth.id != ""'
  const text = (name: string) => ({ name, type: 'text' })
  await post(
    '/api/collections',
    {
      ...{ name: 'groups', type: 'base', listRule: rule, viewRule: rule, createRule: rule },
      fields: [
        ...['name', 'description', 'parent'].map(text),
        { name: 'created', type: 'autodate', onCreate: true },
      ],
      indexes: ['create index groups_by_parent on groups (parent)'],
    },
    adminToken,
  )
  const user = { email: 'user@example.com', password: PASSWORD }
  await post('/api/collections/users/records', { ...user, passwordConfirm: PASSWORD }, adminToken)
  const { token } = await post('/api/collections/users/auth-with-password', {
    identity: user.email,
    password: PASSWORD,
  })
  return { child, port, token, create: async (group) => (await post(COLLECTION, group, token)).id }
}
