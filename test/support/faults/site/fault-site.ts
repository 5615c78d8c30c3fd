import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '@berth/server/installation/config.ts'
import { freePort } from '../../../../scripts/free-port.ts'
import { bindRole, createIdentity, createResource } from '../../api/tenant.ts'
import { type FaultProxy, startFaultProxy } from '../../http/fault-proxy.ts'
import { type S3Server, startS3 } from '../../registry/s3.ts'
import { type Cleanup, runBerth, type Serving, serveBerth, temporaryDirectory } from '../../server/process.ts'
import { SUBJECT, startIssuer, type TestIssuer } from '../../tokens/issuer.ts'
import type { LoadTarget } from '../load.ts'
import { type Cluster, startCluster } from './cluster.ts'
import { type Disk, startDisk } from './disk.ts'
import { type FaultPgbouncer, startFaultPgbouncer } from './fault-pgbouncer.ts'
import { type ServiceNetwork, startNetwork, withoutNetwork } from './network.ts'

/** An installation that faults are injected into: nodes, their database, their store and an issuer. */

/** What differs from three nodes that reach PostgreSQL directly and share a directory of blobs. */
export interface Shape {
  readonly database?: 'sqlite'
  /** How the nodes reach PostgreSQL. `hosts`: a URL with a primary and a standby. */
  readonly path?: 'proxy' | 'pgbouncer' | 'name' | 'hosts'
  readonly blobs?: 'bucket'
  /** Nodes whose wall clock can be shifted. */
  readonly clocks?: true
  /** Keeps what it stores in directories of /tmp: it may become large. */
  readonly lasting?: true
}

export interface SiteNode {
  readonly url: string
  /** The last process. */
  process(): Serving
  isRunning(): boolean
  start(): Promise<void>
  /** Kills it. */
  kill(): Promise<void>
  /** Shifts its wall clock; only where the shape has `clocks`. */
  shiftClock(ms: number): void
}

export interface Site {
  readonly nodes: readonly SiteNode[]
  readonly target: LoadTarget
  readonly issuer: TestIssuer
  /** Of `berth admin` beside the nodes. */
  readonly env: Readonly<Record<string, string>>
  /** Of blobs, and of SQLite. */
  readonly dataDisk: Disk
  /** Each of the following only where the shape has it. */
  readonly cluster: Cluster
  readonly databaseDisk: Disk
  readonly walDisk: Disk
  readonly network: ServiceNetwork
  readonly proxy: FaultProxy
  readonly bouncer: FaultPgbouncer
  readonly standby: Cluster
  readonly s3: S3Server
  /** Sets the address of the host name of the database; undefined: it has none. */
  resolve(address: string | undefined): void
  /** Replaces the tokens of the target: they last for an hour. */
  renewTokens(): Promise<void>
  /** Which cluster has the data now. */
  primary: Cluster
}

const DISK_MIB = 300
const NAMED_HOST = 'database.berth.test'

export async function startSite(t: Cleanup, shape: Shape): Promise<Site> {
  const mib = shape.lasting ? undefined : DISK_MIB
  const dataDisk = startDisk(t, mib)
  const network = withoutNetwork === false ? startNetwork(t) : undefined
  const hasDatabase = shape.database === undefined
  const [databaseDisk, walDisk] = hasDatabase ? [startDisk(t, mib), startDisk(t, mib)] : []
  const cluster =
    databaseDisk && walDisk
      ? await startCluster(t, {
          directory: join(databaseDisk.path, 'pg'),
          walDirectory: walDisk.path,
          network,
        })
      : undefined
  const proxy = shape.path === 'proxy' && cluster ? await startFaultProxy(t, cluster.url) : undefined
  const bouncer = shape.path === 'pgbouncer' && cluster ? await startFaultPgbouncer(t, cluster) : undefined
  const standby =
    shape.path === 'hosts' && cluster
      ? await cluster.standby(t, join(temporaryParent(t), 'standby'))
      : undefined
  const names = temporaryDirectory(t)
  const resolve: Site['resolve'] = (address) =>
    writeFileSync(
      join(names, 'hosts'),
      `127.0.0.1 localhost\n${address === undefined ? '' : `${address} ${NAMED_HOST}\n`}`,
    )
  resolve(cluster?.host)
  // A resolver that refuses: names are in the file or nowhere.
  writeFileSync(join(names, 'resolv.conf'), 'nameserver 127.0.0.53\noptions timeout:1 attempts:1\n')
  const s3 = shape.blobs === 'bucket' ? await startS3(network) : undefined
  if (s3 !== undefined) t.after(() => s3.stop())

  const urlOf = (authority: string, query = '') => `postgres://berth@${authority}/postgres${query}`
  const databaseUrl =
    cluster &&
    (bouncer?.url ??
      proxy?.through(cluster.url) ??
      (standby && urlOf(`${cluster.authority},${standby.authority}`, '?target_session_attrs=read-write')) ??
      (shape.path === 'name' ? urlOf(`${NAMED_HOST}:${cluster.port}`) : cluster.url))
  const env: Record<string, string> = {
    BERTH_DATA_DIR: join(dataDisk.path, 'data'),
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8',
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_LOG_LEVEL: 'warn',
    // Nodes leave no balancer here.
    ...(settings.some(({ name }) => name === 'BERTH_DRAIN_DELAY') && { BERTH_DRAIN_DELAY: '0s' }),
    ...(databaseUrl !== undefined && { BERTH_DATABASE_URL: databaseUrl }),
    ...(s3 && {
      ...(await s3.bucket()).env,
      AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
      AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
    }),
  }
  // Bind mounts in a mount namespace of the process alone.
  const under = shape.path === 'name' ? ['unshare', '-m', 'sh', '-c', mountNames(names), 'sh'] : []
  const count = hasDatabase ? 3 : 1
  const nodes: SiteNode[] = []
  for (let at = 0; at < count; at++) nodes.push(await startNode(t, { ...env }, under, shape, names, at))

  const adminEnv = { ...env, ...(cluster && { BERTH_DATABASE_URL: cluster.url }) }
  const admin = async (...args: string[]) => {
    const { code, stdout, stderr } = await runBerth(t, ['admin', ...args], adminEnv)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const organization: string = JSON.parse(await admin('bootstrap', '--json')).organization.uid
  const tokens = { api: '', registry: '' }
  const renewTokens = async () => {
    tokens.api = await admin('token')
    tokens.registry = await admin('token', '--audience', 'berth.test')
  }
  await renewTokens()
  const issuer = await startIssuer(t)
  const [first] = nodes
  const owner = { url: first?.url ?? '', token: tokens.api }
  const identity = await createIdentity(owner, organization, {
    claimMatch: { issuer: issuer.name, subject: SUBJECT },
  })
  await bindRole(owner, organization, identity, 'viewer')
  for (const at of nodes.keys())
    await createResource(owner, `/registry/v2beta1/repos/${organization}`, { name: `images-${at}` })
  const has = <T>(part: T | undefined, name: string): T => part ?? assert.fail(`this site has no ${name}`)
  let primary = cluster
  return {
    nodes,
    issuer,
    env: adminEnv,
    dataDisk,
    resolve,
    renewTokens,
    target: {
      urls: nodes.map(({ url }) => url),
      organization,
      identity,
      audience: 'http://berth.test',
      tokens,
      idToken: () => issuer.sign({ aud: 'http://berth.test' }),
    },
    get cluster() {
      return has(cluster, 'PostgreSQL')
    },
    get databaseDisk() {
      return has(databaseDisk, 'disk of a database')
    },
    get walDisk() {
      return has(walDisk, 'disk of a database')
    },
    get network() {
      return has(network, 'network')
    },
    get proxy() {
      return has(proxy, 'proxy')
    },
    get bouncer() {
      return has(bouncer, 'PgBouncer')
    },
    get standby() {
      return has(standby, 'standby')
    },
    get s3() {
      return has(s3, 'S3 server')
    },
    get primary() {
      return has(primary, 'PostgreSQL')
    },
    set primary(next) {
      primary = next
    },
  }
}

/** A directory whose descendants other users reach. */
function temporaryParent(t: Cleanup): string {
  const path = temporaryDirectory(t)
  chmodSync(path, 0o755)
  return path
}

function mountNames(directory: string): string {
  const mount = (file: string) => `mount --bind '${join(directory, file)}' "$(readlink -f /etc/${file})"`
  return `${mount('hosts')} && ${mount('resolv.conf')} && exec "$@"`
}

const clockPreload = new URL('shifted-clock.ts', import.meta.url).href

async function startNode(
  t: Cleanup,
  env: Record<string, string>,
  under: readonly string[],
  { clocks }: Shape,
  directory: string,
  at: number,
): Promise<SiteNode> {
  env['BERTH_LISTEN'] = `127.0.0.1:${await freePort()}`
  const clockFile = join(directory, `clock-${at}`)
  if (clocks) env['BERTH_TEST_CLOCK_FILE'] = clockFile
  const nodeArgs = clocks ? ['--import', clockPreload] : []
  const start = () => serveBerth(t, env, [], { under, nodeArgs })
  let running = await start()
  const node: SiteNode = {
    url: `http://${env['BERTH_LISTEN']}`,
    process: () => running,
    isRunning: () => running.child.exitCode === null && running.child.signalCode === null,
    async start() {
      running = await start()
    },
    async kill() {
      running.child.kill('SIGKILL')
      await running.finished
    },
    shiftClock: (ms) => writeFileSync(clockFile, String(ms)),
  }
  return node
}
