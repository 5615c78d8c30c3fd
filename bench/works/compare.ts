import { execFileSync } from 'node:child_process'
import {
  GetGroupRequestSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { Program, ProgramReady } from '../children/program.ts'
import { type Goal, type Tolerance, tolerances } from '../goals.ts'
import { createFrameSource, grpcLoad } from '../grpc-load.ts'
import { createResource, cycle, httpClient, httpLoad, type Load, medianOf, request } from '../http-load.ts'
import { registryClient } from '../registry/client.ts'
import { blobOf, imageOf, newBlobs } from '../registry/content.ts'
import { registrySide, registryToken } from '../registry/registries.ts'
import { currentVersion, findRelease, type Version } from '../release.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'

/**
 * The working tree beside a release, with the same requests in turn. The ratio is that of CPU time per request, so less is better, and a
 * ratio above the tolerance is a regression. Each server has a database of its own, which is filled through its API.
 */

const MB = 1_000_000
const REPO = 'bench/speed'
const GROUPS = 500
const FILLERS = 16
const STARTS = 5
/** A measurement above its tolerance is repeated, so that other load of the machine does not count as a regression. */
const ATTEMPTS = 3

interface Served {
  readonly child: Child & { readonly ready: ProgramReady }
  readonly port: number
  readonly token: string
  readonly organization: string
  readonly groups: readonly string[]
  readonly registry: string
}

export async function measureCompare(bench: Bench): Promise<Result[]> {
  const release = findRelease(bench, bench.options.compare ?? '')
  return compareVersions(bench, currentVersion(bench), release)
}

/** Compares starts, and then the requests whose titles `isWanted` selects. */
export async function compareVersions(
  bench: Bench,
  current: Version,
  release: Version,
  isWanted: (title: string) => boolean = () => true,
): Promise<Result[]> {
  const results = await compareStarts(bench, current, release)
  const versions = [current, release]
  const served: Served[] = []
  for (const version of versions) served.push(await serveVersion(bench, version))
  const content = await pushContent(served)
  const newLayer = newBlobs(MB)

  const both = (connections: number, requestsOf: (one: Served) => () => Buffer) => (one: Served) => {
    const next = requestsOf(one)
    return (seconds: number): Promise<Load> => httpLoad({ port: one.port, next }, connections, seconds)
  }
  const get = (token: string, paths: readonly string[]) =>
    cycle(paths.map((path) => request('GET', path, { token })))
  const registryFlow =
    (title: string, connections: number, flow: Parameters<typeof registrySide>[1]['flow']) => (one: Served) =>
      registrySide(
        { name: title, child: one.child, port: one.port, authorization: one.registry },
        { title, repo: REPO, connections, flow },
      ).load
  let last = 0

  const works: [title: string, Tolerance, (one: Served) => (seconds: number) => Promise<Load>][] = [
    [
      'REST Get of a group',
      tolerances.read,
      both(64, ({ token, groups }) =>
        get(
          token,
          groups.map((uid) => `/iam/v2beta1/groups/${uid}`),
        ),
      ),
    ],
    [
      'REST List, 50 groups with totalCount',
      tolerances.read,
      both(64, ({ token, organization }) =>
        get(token, [`/iam/v2beta1/groups?uidp.descendants_of=${organization}`]),
      ),
    ],
    [
      'gRPC Get of a group',
      tolerances.read,
      ({ port, token, groups }) => {
        const path = `/${GroupsService.typeName}/GetGroup`
        const messages = groups.map((uid) =>
          toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })),
        )
        const next = createFrameSource(messages)
        return (seconds) => grpcLoad({ port, path, token, next }, 64, seconds)
      },
    ],
    [
      'REST Create, 16 at a time',
      tolerances.write,
      both(16, ({ token, organization }) => () => {
        const body = JSON.stringify({ name: `new-${++last}`, description: 'A group made by the benchmark' })
        return request('POST', `/iam/v2beta1/groups/${organization}`, { token, body })
      }),
    ],
    [
      'manifest by tag',
      tolerances.read,
      registryFlow('by tag', 16, (client) => client.skim('manifests/latest')),
    ],
    [
      'manifest by digest',
      tolerances.read,
      registryFlow('by digest', 16, (client) => client.skim(`manifests/${content.manifest}`)),
    ],
    [
      'blob of 1 MB',
      tolerances.copy,
      registryFlow('blob', 16, (client) => client.skim(`blobs/${content.layer}`)),
    ],
    [
      'push of a blob of 1 MB',
      tolerances.write,
      registryFlow('push', 4, (client) => client.pushAtOnce(newLayer())),
    ],
  ]
  for (const [title, tolerance, loadOf] of works.filter(([title]) => isWanted(title)))
    results.push(
      await repeated(bench, tolerance, async () => {
        const sides = served.map(
          (one, index): Side => ({
            name: `${title}, ${versions[index]?.name}`,
            child: one.child,
            load: loadOf(one),
          }),
        )
        const [ours, theirs] = (await inTurn(bench, sides)) as [Measured, Measured]
        return { ...resultOf(title, ours.cpuUs / theirs.cpuUs, tolerance), ours, theirs }
      }),
    )
  return results
}

export function isRegression({ value, goal }: Result): boolean {
  return goal !== undefined && value > goal.atLeast
}

async function repeated(
  bench: Bench,
  { atMost }: Tolerance,
  measure: () => Promise<Result>,
): Promise<Result> {
  let best = await measure()
  for (let attempt = 1; attempt < ATTEMPTS && best.value > atMost; attempt++) {
    bench.say(`  ${best.title}: ${best.value.toFixed(2)} is above ${atMost}: measuring again`)
    const again = await measure()
    if (again.value < best.value) best = again
  }
  return best
}

function resultOf(title: string, value: number, { atMost, note }: Tolerance): Result {
  const goal: Goal = { unit: 'factor', atLeast: atMost, stretch: 1 }
  return { work: 'compare', title: `${title}, to the release`, value, unit: 'factor', goal, note }
}

/** CPU time of a start on an empty database with a warm compile cache, and the memory of the idle server. */
async function compareStarts(bench: Bench, current: Version, release: Version): Promise<Result[]> {
  const caches = new Map([current, release].map((version) => [version, bench.scratch()]))
  const starts = bench.options.quick ? 1 : STARTS
  const start = async (version: Version) => {
    const child = await bench.start<ProgramReady>('program', programOf(bench, version, caches.get(version)))
    const memoryMb = await child.ask<number>('residentMb')
    await bench.stopChildren()
    return { cpuUs: child.ready.startCpuUs, memoryMb }
  }
  const both = async () => {
    const ours: Awaited<ReturnType<typeof start>>[] = []
    const theirs: Awaited<ReturnType<typeof start>>[] = []
    for (let index = 0; index < starts; index++) {
      ours.push(await start(current))
      theirs.push(await start(release))
    }
    const ratio = (of: (one: (typeof ours)[number]) => number) =>
      medianOf(ours.map(of)) / medianOf(theirs.map(of))
    bench.say(
      `  start: ${(medianOf(ours.map((one) => one.cpuUs)) / 1000).toFixed(0)} and ${(medianOf(theirs.map((one) => one.cpuUs)) / 1000).toFixed(0)} ms of CPU`,
    )
    return { cpu: ratio((one) => one.cpuUs), memory: ratio((one) => one.memoryMb) }
  }
  // Fills the caches.
  for (const version of [current, release]) await start(version)
  let memory = Number.NaN
  const cpu = await repeated(bench, tolerances.start, async () => {
    const ratios = await both()
    memory = ratios.memory
    return resultOf('CPU time of a start', ratios.cpu, tolerances.start)
  })
  return [cpu, resultOf('resident memory after a start', memory, tolerances.memory)]
}

function programOf(bench: Bench, { program }: Version, compileCache?: string): Program {
  return {
    command: process.execPath,
    args: [program, 'serve'],
    dir: bench.scratch(),
    reportsReady: true,
    env: environmentOf('{port}', '{dir}', compileCache),
  }
}

function environmentOf(port: string, dir: string, compileCache?: string): Record<string, string> {
  return {
    BERTH_LISTEN: `127.0.0.1:${port}`,
    BERTH_DATA_DIR: `${dir}/data`,
    BERTH_LOG_LEVEL: 'error',
    ...(compileCache !== undefined && { NODE_COMPILE_CACHE: compileCache }),
  }
}

async function serveVersion(bench: Bench, version: Version): Promise<Served> {
  const program = programOf(bench, version)
  const child = await bench.start<ProgramReady>('program', program)
  const { port } = child.ready
  const bootstrap = execFileSync(
    process.execPath,
    [version.program, 'admin', 'bootstrap', '--name', 'bench', '--json'],
    { env: { PATH: process.env['PATH'], ...environmentOf(String(port), program.dir) }, encoding: 'utf8' },
  )
  const { organization, token } = JSON.parse(bootstrap) as {
    organization: { uid: string }
    token: string
  }
  const groups: string[] = []
  const fillers = Array.from({ length: FILLERS }, async (_, filler) => {
    for (let number = filler; number < GROUPS; number += FILLERS)
      groups.push(
        await createResource(port, token, `/iam/v2beta1/groups/${organization.uid}`, {
          name: `group-${number}`,
          description: 'A group',
        }),
      )
  })
  await Promise.all(fillers)
  return {
    ...{ child, port, token, groups },
    organization: organization.uid,
    registry: await registryToken(port, token, [REPO]),
  }
}

/** Pushes the same image to all servers. Returns its digests. */
async function pushContent(served: readonly Served[]): Promise<{ manifest: string; layer: string }> {
  const config = blobOf(Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: {} })))
  const layer = newBlobs(MB)()
  const image = imageOf(config, [layer])
  for (const { port, registry } of served) {
    const http = await httpClient(port)
    const client = registryClient(http, REPO, registry)
    for (const blob of [config, layer]) await client.pushAtOnce(blob)
    await client.putManifest(image, 'latest')
    http.close()
  }
  return { manifest: image.digest, layer: layer.digest }
}
