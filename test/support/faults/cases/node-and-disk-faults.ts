import { databaseFile } from '@berth/server/installation/installation.ts'
import Database from 'better-sqlite3'
import { withoutPostgres } from '../../database/postgres.ts'
import { eventually } from '../../eventually.ts'
import { withoutOwnS3 } from '../../registry/s3.ts'
import { toSearchParams } from '../../tokens/exchange.ts'
import { type Disk, withoutDisk } from '../site/disk.ts'
import type { Site } from '../site/fault-site.ts'
import { withoutNetwork } from '../site/network.ts'
import type { FaultCase } from './fault-case.ts'

/** Faults of disks, of the blob store, of nodes, of issuers and of clocks. */

const MINUTE_MS = 60_000
/** From a node that has fetched the keys within `issuerKeysRefetchIntervalMs`: it does not fetch them again for an unknown one. */
const KEYS_ARE_NEW = /^exchange 401\/16$/
const three = { shape: {}, skip: withoutPostgres } as const
const sqlite = { shape: { database: 'sqlite' } } as const
const bucket = { shape: { blobs: 'bucket' }, skip: withoutPostgres || withoutOwnS3, ready: 'yes' } as const
const disk = { skip: withoutDisk } as const

function fillDisk(chosen: (site: Site) => Disk): FaultCase['inject'] {
  return async (site) => {
    chosen(site).fill()
    return () => chosen(site).free()
  }
}

function killNodes(...which: readonly number[]): Pick<FaultCase, 'inject' | 'nodesLost'> {
  return {
    nodesLost: which,
    inject: async ({ nodes }) => {
      await Promise.all(which.map((at) => nodes[at]?.kill()))
      return async () => {
        await Promise.all(which.map((at) => nodes[at]?.start()))
      }
    },
  }
}

function freezeNode(which: number): Pick<FaultCase, 'inject' | 'nodesLost'> {
  return {
    nodesLost: [which],
    inject: async ({ nodes }) => {
      nodes[which]?.process().child.kill('SIGSTOP')
      return () => void nodes[which]?.process().child.kill('SIGCONT')
    },
  }
}

function shiftClock(ms: number): FaultCase['inject'] {
  return async ({ nodes }) => {
    nodes[0]?.shiftClock(ms)
    return () => nodes[0]?.shiftClock(0)
  }
}

/** Waits until the nodes know the new key: the next case begins with a load that fails nothing. */
async function healIssuer({ issuer, nodes, target }: Site): Promise<void> {
  issuer.answer = undefined
  const body = toSearchParams({ aud: target.audience, identity: target.identity }).toString()
  for (const { url } of nodes.filter((node) => node.isRunning()))
    await eventually(async () => {
      const headers = {
        authorization: `Bearer ${await target.idToken()}`,
        'content-type': 'application/x-www-form-urlencoded',
      }
      const reply = await fetch(`${url}/sts/exchange`, { method: 'POST', headers, body }).catch(
        () => undefined,
      )
      await reply?.arrayBuffer()
      return reply?.status === 200
    })
}

export const diskFaults: readonly FaultCase[] = [
  {
    ...three,
    ...disk,
    name: 'disk: that of PostgreSQL is full',
    // It reads: the reply says that it cannot write.
    ready: 'yes',
    inject: async (site) => {
      // Free space in files that exist is used up first.
      site.databaseDisk.fill()
      return () => site.databaseDisk.free()
    },
  },
  {
    ...three,
    ...disk,
    name: "disk: that of PostgreSQL's write-ahead log is full: it panics",
    losesUploads: true,
    ready: 'any',
    inject: async (site) => {
      site.walDisk.fill()
      // The segment in use has room: a switch needs a new one.
      const { cluster } = site
      await cluster.run('select pg_switch_wal()').catch(() => undefined)
      return async () => {
        site.walDisk.free()
        await cluster.stop('SIGQUIT')
        await cluster.start()
      }
    },
  },
  {
    ...three,
    ...disk,
    name: 'disk: that of blobs is full',
    ready: 'yes',
    inject: fillDisk(({ dataDisk }) => dataDisk),
  },
  {
    ...three,
    ...disk,
    name: 'disk: that of blobs is read-only',
    ready: 'yes',
    inject: async ({ dataDisk }) => {
      await dataDisk.remount('ro')
      return () => dataDisk.remount('rw')
    },
  },
  {
    ...sqlite,
    ...disk,
    name: 'disk: that of SQLite and of blobs is full',
    ready: 'yes',
    inject: fillDisk(({ dataDisk }) => dataDisk),
  },
]

export const storeFaults: readonly FaultCase[] = [
  {
    ...bucket,
    name: 'bucket: its server is killed and started again',
    inject: async ({ s3 }) => {
      await s3.kill()
      return () => s3.start()
    },
  },
  {
    ...bucket,
    name: 'bucket: its server is frozen (SIGSTOP)',
    inject: async ({ s3 }) => {
      s3.signal('SIGSTOP')
      return () => s3.signal('SIGCONT')
    },
  },
  {
    ...bucket,
    skip: bucket.skip || withoutNetwork,
    name: 'bucket: packets to and from its server are dropped',
    inject: async ({ network, s3 }) => {
      const { port } = new URL(s3.url)
      network.block('in', `tcp dport ${port} drop`)
      network.block('out', `tcp sport ${port} drop`)
      return () => network.heal()
    },
  },
  {
    ...bucket,
    skip: bucket.skip || withoutNetwork,
    name: 'bucket: its host is unreachable (ICMP)',
    inject: async ({ network, s3 }) => {
      network.block('in', `tcp dport ${new URL(s3.url).port} reject with icmp type host-unreachable`)
      return () => network.heal()
    },
  },
]

export const nodeFaults: readonly FaultCase[] = [
  {
    ...three,
    name: 'node: one of three is killed (SIGKILL)',
    ready: 'yes',
    harmless: true,
    ...killNodes(2),
  },
  {
    ...three,
    name: 'node: one of three is frozen (SIGSTOP)',
    ready: 'yes',
    harmless: true,
    ...freezeNode(2),
  },
  { ...three, name: 'node: all three are killed (SIGKILL)', ready: 'any', ...killNodes(0, 1, 2) },
  { ...sqlite, name: 'node: the only one, on SQLite, is killed (SIGKILL)', ready: 'any', ...killNodes(0) },
  { ...sqlite, name: 'node: the only one, on SQLite, is frozen (SIGSTOP)', ready: 'any', ...freezeNode(0) },
  {
    ...sqlite,
    name: 'sqlite: another process holds the write lock',
    ready: 'any',
    inject: async ({ env }) => {
      const db = new Database(databaseFile(env['BERTH_DATA_DIR'] ?? ''))
      db.exec('begin immediate')
      return () => {
        db.exec('rollback')
        db.close()
      }
    },
  },
  {
    ...three,
    name: 'clock: that of one node is 10 min ahead',
    shape: { clocks: true },
    ready: 'yes',
    inject: shiftClock(10 * MINUTE_MS),
    // An ID token of 5 min is over by then.
    acceptedContradictions: /^exchange 401\/16$/,
  },
  {
    ...three,
    name: 'clock: that of one node is 10 min behind',
    shape: { clocks: true },
    ready: 'yes',
    inject: shiftClock(-10 * MINUTE_MS),
    // An ID token of the future.
    acceptedContradictions: /^exchange 401\/16$/,
  },
  {
    ...three,
    name: 'issuer: it is down, its keys are known',
    ready: 'yes',
    harmless: true,
    inject: async ({ issuer }) => {
      issuer.answer = (request) => request.socket.destroy()
      return () => {
        issuer.answer = undefined
      }
    },
  },
  {
    ...three,
    name: 'issuer: it hangs, and signs with a key that is not known',
    ready: 'yes',
    acceptedContradictions: KEYS_ARE_NEW,
    inject: async (site) => {
      site.issuer.answer = () => undefined
      site.issuer.rotate(`k-${Date.now()}`)
      return () => healIssuer(site)
    },
  },
  {
    ...three,
    name: 'issuer: it answers 500, and signs with a key that is not known',
    ready: 'yes',
    acceptedContradictions: KEYS_ARE_NEW,
    inject: async (site) => {
      site.issuer.answer = (_, response) => void response.writeHead(500).end()
      site.issuer.rotate(`k-${Date.now()}`)
      return () => healIssuer(site)
    },
  },
]
