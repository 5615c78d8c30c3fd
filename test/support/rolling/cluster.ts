import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { freePort } from '../../../scripts/free-port.ts'
import { startPostgres } from '../database/postgres.ts'
import type { OtherVersion } from '../server/previous-release.ts'
import { type Cleanup, runBerth, type Serving, serveBerth, temporaryDirectory } from '../server/process.ts'
import { type Haproxy, type HaproxyOptions, startHaproxy } from './haproxy.ts'

/** Nodes in processes of their own, on one real PostgreSQL and with shared blobs, behind a real HAProxy. */

export interface ClusterOptions extends Omit<HaproxyOptions, 'nodes'> {
  /** Settings of every node besides those that make them one installation. */
  readonly env?: Readonly<Record<string, string>>
  /** Version of the nodes; default: this one. */
  readonly version?: OtherVersion
  /** Without a balancer; default false. */
  readonly withoutBalancer?: boolean
}

export interface ClusterNode {
  /** Where the node itself is reached. */
  readonly origin: string
  /** Undefined while it is stopped. */
  readonly server: Serving | undefined
  /** Starts this version, or the one that is given, and waits until it is ready and the balancer uses it. */
  start(version?: OtherVersion): Promise<void>
  /** Takes the node out of the balancer until it starts again; versions before 0.7 do not do this by themselves. */
  drain(): Promise<void>
  /** Sends SIGTERM and waits for exit code 0. */
  stop(): Promise<void>
  /** Sends SIGKILL. */
  kill(): Promise<void>
}

export interface Cluster {
  /** Through the balancer; without one, of the first node. */
  readonly url: string
  readonly nodes: readonly ClusterNode[]
  /** The first organization. */
  readonly organization: string
  /** A token of its owner for the API. */
  readonly token: string
  /** A token of its owner for the registry. */
  readonly registryToken: string
  /** What the balancer printed. */
  balancerOutput(): string
  /** Stops every node and starts it with this version, one after the other. */
  rollingRestart(): Promise<void>
  /** Settings with which `berth admin` finds the installation. */
  readonly settings: Readonly<Record<string, string>>
}

const NODES = 3

export async function startCluster(
  t: Cleanup,
  { env = {}, version, withoutBalancer = false, ...options }: ClusterOptions = {},
): Promise<Cluster> {
  const postgres = await startPostgres(t)
  const dataDir = temporaryDirectory(t)
  const ports: number[] = []
  while (ports.length < NODES) ports.push(await freePort())
  const settings = {
    BERTH_DATA_DIR: dataDir,
    BERTH_DATABASE_URL: postgres.url,
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_TRUSTED_PROXIES: '127.0.0.1/32',
    BERTH_DRAIN_DELAY: '3s',
    BERTH_LOG_LEVEL: 'warn',
    ...env,
  }
  const run = (of: OtherVersion | undefined, own: Readonly<Record<string, string>> = {}) =>
    of === undefined
      ? ([{ ...settings, ...own }, {}] as const)
      : ([of.settingsOf({ ...settings, ...own }), { as: of.program }] as const)
  let balancer: Haproxy | undefined
  const nodes = ports.map((port, at): ClusterNode => {
    let server: Serving | undefined
    const end = async (signal: NodeJS.Signals) => {
      const stopping = server
      server = undefined
      stopping?.child.kill(signal)
      return stopping?.finished
    }
    return {
      origin: `http://127.0.0.1:${port}`,
      get server() {
        return server
      },
      async start(of) {
        const [env, options] = run(of, { BERTH_LISTEN: `127.0.0.1:${port}` })
        server = await serveBerth(t, env, [], options)
        await balancer?.use(at)
        await balancer?.until(at, 'UP')
      },
      drain: async () => balancer?.drain(at),
      async stop() {
        const finished = await end('SIGTERM')
        assert.equal(finished?.code, 0, finished?.stderr)
      },
      kill: async () => void (await end('SIGKILL')),
    }
  })
  for (const node of nodes) await node.start(version)
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], ...run(version))
    assert.equal(code, 0, stderr)
    return stdout
  }
  const { organization } = JSON.parse(await admin('bootstrap', '--json'))
  const token = await admin('token')
  const registryToken = await admin('token', '--audience', 'berth.test')
  if (!withoutBalancer)
    balancer = await startHaproxy(t, { ...options, nodes: ports.map((port) => `127.0.0.1:${port}`) })
  return {
    url: balancer?.url ?? nodes[0]?.origin ?? '',
    nodes,
    organization: organization.uid,
    token: token.trim(),
    registryToken: registryToken.trim(),
    settings,
    balancerOutput: () => balancer?.output() ?? '',
    async rollingRestart() {
      for (const node of nodes) {
        await node.stop()
        await node.start()
      }
    },
  }
}
