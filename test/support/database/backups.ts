import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { databaseFile } from '@berth/server/installation/installation.ts'
import { readTables } from '@berth/server/storage/schema/catalog.ts'
import { migrateTo } from '@berth/server/storage/schema/migrate.ts'
import Database from 'better-sqlite3'
import pg from 'pg'
import { freePort } from '../../../scripts/free-port.ts'
import { digest, type OciClient, ociClient, pushImage, testImage } from '../registry/registry.ts'
import { newTraffic, runClients } from '../registry/registry-traffic.ts'
import {
  type Cleanup,
  type Environment,
  runBerth,
  serveBerth,
  temporaryDirectory,
} from '../server/process.ts'
import { openDatabase } from './open-database.ts'
import { startPostgres } from './postgres.ts'

/** Installations that are backed up and restored by the program itself. */

export const PASSPHRASE = 'correct horse battery staple'
export const withPassphrase = { BERTH_BACKUP_PASSPHRASE: PASSPHRASE } as const

const collectingServer = fileURLToPath(new URL('../server/gc-server.ts', import.meta.url))

/** Runs `berth admin …`; `json` is what it printed if that is JSON. */
export async function runAdmin(t: Cleanup, env: Environment, ...args: string[]) {
  const finished = await runBerth(t, ['admin', ...args], { ...withPassphrase, ...env })
  return { ...finished, json: finished.stdout.startsWith('{') ? JSON.parse(finished.stdout) : undefined }
}

/** Runs a command that succeeds, with --json; what it printed. */
export async function runAdminJson(t: Cleanup, env: Environment, ...args: string[]) {
  const { code, stderr, json, stdout } = await runAdmin(t, env, ...args, '--json')
  assert.equal(code, 0, `berth admin ${args.join(' ')}: ${stderr}${stdout}`)
  return json
}

/** A server of an installation, and a client for its owner. */
export async function startServing(t: Cleanup, env: Environment, { collects: collectsGarbage = false } = {}) {
  const host = `127.0.0.1:${await freePort()}`
  const settings = { BERTH_LOG_LEVEL: 'error', ...env, BERTH_LISTEN: host }
  const server = await serveBerth(t, settings, [], collectsGarbage ? { as: collectingServer } : {})
  const first = await runAdminJson(t, settings, 'bootstrap')
  const token = (await runBerth(t, ['admin', 'token', '--audience', host], settings)).stdout
  return {
    ...server,
    root: first.organization.uid as string,
    client: ociClient(server, `Bearer ${token}`),
    async api(method: string, path: string, body?: object) {
      const response = await fetch(`${server.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${first.token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      return { status: response.status, json: (await response.json()) as { uid: string } }
    },
    async stop() {
      server.child.kill('SIGKILL')
      await server.finished
    },
  }
}

export type Engine = 'sqlite' | 'postgres'

/** Makes the environments of installations that do not exist yet. */
export async function createInstallations(t: Cleanup, engines: readonly Engine[]) {
  const postgres = engines.includes('postgres') ? await startPostgres(t) : undefined
  let count = 0
  return async (engine: Engine): Promise<Environment & { readonly BERTH_DATA_DIR: string }> => {
    const dataDir = join(temporaryDirectory(t), 'data')
    if (engine === 'sqlite') return { BERTH_DATA_DIR: dataDir }
    const url = new URL(postgres?.url ?? '')
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    const name = `berth_${count++}`
    await client.query(`create database ${name}`)
    await client.end()
    url.pathname = `/${name}`
    return { BERTH_DATA_DIR: dataDir, BERTH_DATABASE_URL: url.href }
  }
}

export interface LoadResult {
  /** Manifests and groups that were acknowledged before the backup started and not deleted until it ended. */
  readonly acknowledged: number
  readonly lost: number
  readonly pushed: number
  readonly deleted: number
  /** Blobs that the server collected meanwhile. */
  readonly firstSeconds: number
  readonly secondSeconds: number
  readonly blobs: number
  readonly bytes: number
  readonly addedBySecond: number
  readonly restoreSeconds: number
}

/**
 * Backs an installation up twice while clients push, delete and create, and its server collects without a grace; restores the second
 * backup elsewhere, and looks for all that was acknowledged when that backup started.
 */
export async function backUpUnderLoad(
  t: Cleanup,
  from: Environment,
  to: Environment,
  {
    destination,
    images,
    clients = 4,
  }: { readonly destination: string; readonly images: number; readonly clients?: number },
): Promise<LoadResult> {
  const server = await startServing(t, from, { collects: true })
  const traffic = newTraffic()
  const groups: string[] = []
  let isOver = false
  const names = ['a', 'b', 'c', 'd'].map((name) => `${server.root}/${name}`)
  const work = [
    runClients(traffic, clients, {
      client: server.client,
      names,
      deletes: 0.4,
      isStopped: () => isOver,
      withoutGrace: true,
    }),
    createGroups(server, groups, () => isOver),
  ]
  const until = async (condition: () => boolean) => {
    while (!condition()) await Promise.race([sleep(10), ...work])
  }
  let second: { readonly seconds: number; readonly id: string; readonly blobs: Blobs }
  let first: typeof second
  let [manifestsBefore, groupsBefore]: [string[], string[]] = [[], []]
  try {
    await until(() => traffic.pushed >= images && traffic.deleted > 0 && groups.length > 2)
    first = await runAdminJson(t, from, 'backup', destination)
    const pushed = traffic.pushed + images / 2
    await until(() => traffic.pushed >= pushed)
    manifestsBefore = [...traffic.acknowledged.keys()]
    groupsBefore = [...groups]
    second = await runAdminJson(t, from, 'backup', destination)
  } finally {
    isOver = true
    await Promise.all(work)
  }
  await server.stop()
  const restored = await runAdminJson(t, to, 'restore', destination)
  assert.equal(restored.backup, second.id)
  assert.deepEqual([restored.damaged, restored.scrub.wrong], [[], 0])

  const there = await startServing(t, to)
  let lost = 0
  const kept = manifestsBefore.flatMap((key) => traffic.acknowledged.get(key) ?? [])
  for (const { name, digest: its, manifest, blobs } of kept) {
    const found = await there.client.request('GET', `${name}/manifests/${its}`)
    const pulled = await Promise.all(blobs.map((blob) => canPull(there.client, name, blob)))
    if (found.status !== 200 || !found.bytes.equals(manifest) || pulled.includes(false)) lost++
  }
  for (const uid of groupsBefore)
    if ((await there.api('GET', `/iam/v2beta1/groups/${uid}`)).status !== 200) lost++
  await there.stop()
  return {
    acknowledged: kept.length + groupsBefore.length,
    lost,
    pushed: traffic.pushed,
    deleted: traffic.deleted,
    firstSeconds: first.seconds,
    secondSeconds: second.seconds,
    blobs: second.blobs.count,
    bytes: second.blobs.bytes,
    addedBySecond: second.blobs.added.count,
    restoreSeconds: restored.seconds,
  }
}

interface Blobs {
  readonly count: number
  readonly bytes: number
  readonly added: { readonly count: number }
}

async function createGroups(
  { api, root }: Awaited<ReturnType<typeof startServing>>,
  created: string[],
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const { status, json } = await api('POST', `/iam/v2beta1/groups/${root}`, { name: `group-${n}` })
    assert.equal(status, 200)
    created.push(json.uid)
    await sleep(20)
  }
}

async function canPull(client: OciClient, name: string, blob: Buffer): Promise<boolean> {
  const { status, bytes } = await client.request('GET', `${name}/blobs/${digest(blob)}`)
  return status === 200 && bytes.equals(blob)
}

/** Files below a directory of backups or blobs, by their paths in it. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
}

/** A SQLite installation with one image, its server, and a destination without a backup yet. */
export async function newServedInstallation(t: Cleanup) {
  const env = createEmptyInstallation(t)
  const server = await startServing(t, env)
  const image = await pushImage(server.client, `${server.root}/app`, testImage(), '1')
  return { env, server, image, destination: join(temporaryDirectory(t), 'backups') }
}

/** The environment of a SQLite installation that does not exist yet. */
export function createEmptyInstallation(t: Cleanup) {
  return { BERTH_DATA_DIR: join(temporaryDirectory(t), 'data') }
}

export function copyInstallation(t: Cleanup, directory: string): string {
  const copy = temporaryDirectory(t)
  for (const file of filesIn(directory)) {
    mkdirSync(join(copy, file, '..'), { recursive: true })
    writeFileSync(join(copy, file), readFileSync(join(directory, file)))
  }
  return copy
}

/**
 * Moves the rows of an installation to a database that has the migrations up to this one only, as an earlier version leaves it. Drops the
 * tables and columns of later migrations.
 */
export async function returnToSchema(
  { BERTH_DATA_DIR: dataDir }: { readonly BERTH_DATA_DIR: string },
  last: string,
): Promise<void> {
  const file = databaseFile(dataDir)
  const current = `${file}.current`
  renameSync(file, current)
  const db = await openDatabase({ BERTH_DATA_DIR: dataDir })
  await migrateTo(db, last)
  const tables = await readTables(db)
  await db.close()
  const database = new Database(file)
  database.exec(`attach '${current}' as current`)
  for (const { name, columns } of tables) {
    const names = columns.map((column) => `"${column.name}"`).join()
    // Migrations may have written some.
    database.exec(
      `delete from "${name}"; insert into "${name}" (${names}) select ${names} from current."${name}"`,
    )
  }
  database.close()
  rmSync(current)
}

/** Where a repository has a blob. */
export function blobPath(bytes: Uint8Array): string {
  const hex = digest(bytes).slice('sha256:'.length)
  return `sha256/${hex.slice(0, 2)}/${hex}`
}

/** Changes one bit of a file. */
export function damage(path: string): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  writeFileSync(path, bytes)
}

/** As if the lease of a backup that was killed had expired. */
export async function expireLease(env: Environment): Promise<void> {
  const db = await openDatabase(env)
  await db.kysely.updateTable('registry_runs').set({ lease_ms: 0 }).where('name', '=', 'backup').execute()
  await db.close()
}
