import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { limits } from '@berth/server/config/limits.ts'
import type { BlobStore } from '@berth/server/registry/blobs/blob-store.ts'
import { openBlobs } from '@berth/server/registry/blobs/open.ts'
import { collectGarbage } from '@berth/server/registry/gc/garbage-collection.ts'
import { type Db, inTransaction } from '@berth/server/storage/db.ts'
import { freePort } from '../../scripts/free-port.ts'
import { addressOf, databases } from '../support/database/databases.ts'
import { openDatabase } from '../support/database/open-database.ts'
import { eventually } from '../support/eventually.ts'
import { digest, type OciClient, ociClient } from '../support/registry/registry.ts'
import { type S3Server, startS3, withoutS3 } from '../support/registry/s3.ts'
import {
  cleanups,
  runBerth,
  type Serving,
  serveBerth,
  temporaryDirectory,
} from '../support/server/process.ts'

/** Nodes that are killed after they have stored the bytes of a blob, and before its row is committed. */

const PART = limits.s3PartBytes
const clockPreload = fileURLToPath(new URL('../support/faults/site/shifted-clock.ts', import.meta.url))
/** A server on SQLite waits for 5 seconds until a transaction fails. */
const LOCKED_MS_MAX = 4000
/** Reached only if something is wrong: a busy machine needs several. */
const ATTEMPTS_MAX = 10
const DAY_MS = 24 * 60 * 60 * 1000

interface Upload {
  readonly path: string
  readonly bytes: Buffer
  /** Bytes that a response has acknowledged. */
  readonly confirmed: number
}

/** Acknowledged bytes, and bytes of the request that finishes the upload. */
const SIZES = [
  [1000, 0],
  [1000, PART + 5],
  [2 * PART + 10, 500],
] as const

// A database in the test process has no processes that could be killed. Blob stores do not depend on the database: a bucket is tested with one.
for (const [place, database] of databases.filter(({ name }) => name !== 'pglite').entries())
  for (const store of place === 0 ? (['files', 's3'] as const) : (['files'] as const))
    describe(`an upload whose server is killed before the commit of its blob (${store}, ${database.name})`, {
      skip: store === 's3' && withoutS3,
    }, () => {
      const scope = cleanups()
      let env: Record<string, string> & { BERTH_DATA_DIR: string }
      let clockFile = ''
      let shiftMs = 0
      let db: Db
      let blobs: BlobStore
      let server: Serving
      let client: OciClient
      let authorization = ''
      let repo = ''

      before(async () => {
        let s3: S3Server | undefined
        if (store === 's3') {
          s3 = await startS3()
          scope.after(s3.stop)
        }
        const bucket = await s3?.bucket()
        const dataDir = temporaryDirectory(scope)
        clockFile = join(dataDir, 'shift')
        const own = await database.open?.()
        if (own !== undefined) scope.after(() => own.close())
        env = {
          BERTH_DATA_DIR: dataDir,
          BERTH_LISTEN: `127.0.0.1:${await freePort()}`,
          BERTH_LOG_LEVEL: 'error',
          BERTH_COLLECTION_INTERVAL: 'off',
          BERTH_TEST_CLOCK_FILE: clockFile,
          ...(own && { BERTH_DATABASE_URL: addressOf(own) }),
          ...(bucket && {
            ...bucket.env,
            AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
            AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
          }),
        }
        await start()
        const admin = async (...args: string[]) => (await runBerth(scope, ['admin', ...args], env)).stdout
        repo = `${JSON.parse(await admin('bootstrap', '--json')).organization.uid}/pushed`
        authorization = `Bearer ${(await admin('token', '--audience', new URL(server.url).host)).trim()}`
        client = ociClient(server, authorization)
        db = await openDatabase(env)
        scope.after(() => db.close())
        blobs = await openBlobs({ dataDir, blobs: bucket?.settings }, { warn() {} })
        scope.after(() => blobs.close())
      })
      after(() => scope.run())

      async function start() {
        server = await serveBerth(scope, { ...env, NODE_OPTIONS: `--import=${clockPreload}` })
      }

      const beginUpload = async () => {
        const { headers } = await client.request('POST', `${repo}/blobs/uploads/`)
        return (headers.get('location') ?? '').replace('/v2/', '')
      }

      /** Starts a request that finishes an upload, and waits until it has claimed the upload. */
      const sendHeaders = async ({ path, bytes, confirmed }: Upload) => {
        const sending = request(`${server.url}/v2/${path}?digest=${digest(bytes)}`, {
          method: 'PUT',
          headers: { authorization, 'transfer-encoding': 'chunked' },
        })
        sending.on('error', () => undefined)
        sending.flushHeaders()
        const claimed = () =>
          db.kysely
            .selectFrom('uploads')
            .select('id')
            .where('id', '=', path.split('/').at(-1) ?? '')
            .where('writer', '<>', '')
            .execute()
        await eventually(async () => (await claimed()).length > 0, Boolean, { pollMs: 5 })
        return () => void sending.end(bytes.subarray(confirmed))
      }

      /**
       * Finishes uploads, and kills the server when it has stored their blobs and waits for the database. Returns false if it waits for the
       * database before that: on SQLite it cannot renew a lease either.
       */
      const killBeforeCommit = async (uploads: readonly Upload[]): Promise<boolean> => {
        const finishing = await Promise.all(uploads.map(sendHeaders))
        const isStored = async () => {
          const found: string[] = []
          for await (const { location } of blobs.listBlobs('sha256')) found.push(location)
          return uploads.every(({ bytes }) =>
            found.some((location) => location.includes(digest(bytes).slice('sha256:'.length))),
          )
        }
        const isOver = new Error('the rows are released')
        let isKilled = false
        const holdingRows = inTransaction(db, async (tx) => {
          const rows = uploads.map(({ bytes }) => ({
            digest: digest(bytes),
            size: 0,
            location: '',
            created_ms: 0,
          }))
          await tx.insertInto('blobs').values(rows).execute()
          for (const finish of finishing) finish()
          const endMs = performance.now() + LOCKED_MS_MAX
          while (!isKilled && performance.now() < endMs) {
            isKilled = await isStored()
            // Whatever the server does before it waits for the row.
            await pause(isKilled ? 300 : 5)
          }
          if (isKilled) {
            server.child.kill('SIGKILL')
            await server.finished
          }
          throw isOver
        })
        await assert.rejects(holdingRows, isOver)
        return isKilled
      }

      /** Creates uploads and kills the server while it finishes them. */
      const interruptUploads = async (
        sizes: readonly (readonly [confirmed: number, rest: number])[],
      ): Promise<readonly Upload[]> => {
        for (let attempt = 1; ; attempt++) {
          assert.ok(attempt <= ATTEMPTS_MAX, 'the server never stored the blobs while the rows were locked')
          const uploads = await Promise.all(
            sizes.map(async ([confirmed, rest]) => {
              const [path, bytes] = [await beginUpload(), randomBytes(confirmed + rest)]
              const first = await client.request('PATCH', path, { body: bytes.subarray(0, confirmed) })
              assert.equal(first.status, 202, first.bytes.toString())
              return { path, bytes, confirmed }
            }),
          )
          if (!(await killBeforeCommit(uploads))) continue
          shiftMs += limits.uploadCommitLeaseMs
          writeFileSync(clockFile, String(shiftMs))
          await start()
          // The clock is read from its file.
          await pause(300)
          return uploads
        }
      }

      const sizeOf = async (path: string) => {
        const reply = await client.request('GET', path)
        assert.equal(reply.status, 204, reply.bytes.toString())
        const end = Number((reply.headers.get('range') ?? '').split('-')[1])
        return end === 0 ? 0 : end + 1
      }

      /** Finishes an upload with the bytes that the server does not have. */
      const finish = async (path: string, bytes: Buffer, method: 'PUT' | 'PATCH') => {
        const size = await sizeOf(path)
        const rest = {
          body: bytes.subarray(size),
          ...(size < bytes.length && { headers: { 'content-range': `${size}-${bytes.length - 1}` } }),
        }
        if (method === 'PATCH') {
          const continued = await client.request('PATCH', path, rest)
          assert.equal(continued.status, 202, continued.bytes.toString())
        }
        const finished = await client.request(
          'PUT',
          `${path}?digest=${digest(bytes)}`,
          method === 'PUT' ? rest : {},
        )
        assert.equal(finished.status, 201, finished.bytes.toString())
        const pulled = await client.request('GET', `${repo}/blobs/${digest(bytes)}`)
        assert.equal(pulled.status, 200, pulled.bytes.toString())
        assert.equal(digest(pulled.bytes), digest(bytes))
        return size
      }

      test('keeps acknowledged bytes, and is finished again', async (t) => {
        const uploads = await interruptUploads(SIZES)
        for (const { path, bytes, confirmed } of uploads) {
          const sizes = `${confirmed} bytes, and ${bytes.length - confirmed} with the PUT`
          await t.test(sizes, async () => {
            const blob = await client.request('HEAD', `${repo}/blobs/${digest(bytes)}`)
            assert.equal(blob.status, 404)
            const size = await finish(path, bytes, 'PUT')
            assert.ok(size >= confirmed && size <= bytes.length, `${size} bytes`)
          })
        }
      })

      test('is continued with more bytes than those of the interrupted blob', async () => {
        const [upload] = await interruptUploads([[PART + 10, 1000]])
        assert.ok(upload !== undefined)
        await finish(upload.path, Buffer.concat([upload.bytes, randomBytes(2 * PART)]), 'PATCH')
      })

      test('leaves nothing that garbage collection does not delete', async () => {
        server.child.kill('SIGKILL')
        await server.finished
        for (let run = 1; run <= 2; run++) {
          const later = { db, clock: () => Date.now() + 3 * run * DAY_MS }
          await collectGarbage({ store: later, blobs, graceMs: 0, dryRun: false, requireKnownStore: false })
        }
        const left: string[] = []
        for await (const { location } of blobs.listBlobs()) left.push(location)
        for await (const { id } of blobs.listUploads()) left.push(id)
        assert.deepEqual(left, [])
      })
    })
