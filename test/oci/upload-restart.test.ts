import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type ClientRequest, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { freePort } from '../../scripts/free-port.ts'
import { eventually } from '../support/eventually.ts'
import { digest, type OciClient, ociClient } from '../support/registry/registry.ts'
import { type S3Server, startS3, withoutOwnS3 } from '../support/registry/s3.ts'
import {
  cleanups,
  runBerth,
  type Serving,
  serveBerth,
  temporaryDirectory,
} from '../support/server/process.ts'

/** Bytes that a server has received when it ends: as many as were lost before. */
const SENT_BYTES = 13_000_000

for (const store of ['files', 's3'] as const)
  describe(`an upload whose server ends (${store})`, { skip: store === 's3' && withoutOwnS3 }, () => {
    const scope = cleanups()
    let s3: S3Server | undefined
    let env: Record<string, string> & { BERTH_DATA_DIR: string }
    let server: Serving
    let client: OciClient
    let authorization = ''
    let repo = ''

    before(async () => {
      s3 = store === 's3' ? await startS3() : undefined
      env = {
        BERTH_DATA_DIR: temporaryDirectory(scope),
        BERTH_LISTEN: `127.0.0.1:${await freePort()}`,
        // In which a stopping server reads what has arrived.
        BERTH_STOP_GRACE: '4s',
        BERTH_LOG_LEVEL: 'warn',
        ...(s3 && {
          ...(await s3.bucket()).env,
          AWS_ACCESS_KEY_ID: process.env['AWS_ACCESS_KEY_ID'] ?? '',
          AWS_SECRET_ACCESS_KEY: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
        }),
      }
      server = await serveBerth(scope, env)
      const admin = async (...args: string[]) => (await runBerth(scope, ['admin', ...args], env)).stdout
      repo = `${JSON.parse(await admin('bootstrap', '--json')).organization.uid}/pushed`
      authorization = `Bearer ${(await admin('token', '--audience', new URL(server.url).host)).trim()}`
      client = ociClient(server, authorization)
    })
    after(async () => {
      await scope.run()
      await s3?.stop()
    })

    /** Sends bytes with a request that announces all of the blob. Its error is expected. */
    const send = async (path: string, bytes: Buffer, from: number, to: number): Promise<ClientRequest> => {
      const sending = request(`${server.url}/v2/${path}`, {
        method: 'PATCH',
        headers: {
          authorization,
          'content-length': bytes.length - from,
          'content-range': `${from}-${bytes.length - 1}`,
        },
      })
      sending.on('error', () => undefined)
      await new Promise<void>((resolve) => sending.write(bytes.subarray(from, to), () => resolve()))
      return sending
    }

    const sizeOf = async (path: string) => {
      const reply = await client.request('GET', path)
      assert.equal(reply.status, 204, reply.bytes.toString())
      const end = Number((reply.headers.get('range') ?? '').split('-')[1])
      return end === 0 ? 0 : end + 1
    }

    const finish = async (path: string, bytes: Buffer, from: number) => {
      const rest = {
        body: bytes.subarray(from),
        headers: { 'content-range': `${from}-${bytes.length - 1}` },
      }
      const resumed = await client.request('PATCH', path, rest)
      assert.equal(resumed.status, 202, resumed.bytes.toString())
      const finished = await client.request('PUT', `${path}?digest=${digest(bytes)}`)
      assert.equal(finished.status, 201, finished.bytes.toString())
      const pulled = await client.request('GET', `${repo}/blobs/${digest(bytes)}`)
      assert.equal(digest(pulled.bytes), digest(bytes))
    }

    const begin = async () => {
      const { headers } = await client.request('POST', `${repo}/blobs/uploads/`)
      return (headers.get('location') ?? '').replace('/v2/', '')
    }

    test('continues with every byte that a stopped server had received', async () => {
      const bytes = randomBytes(2 * SENT_BYTES)
      const path = await begin()
      await send(path, bytes, 0, SENT_BYTES)
      // In memory and on the way to the store.
      const stored = store === 's3' ? limits.s3PartBytes : SENT_BYTES - 1024 * 1024
      await eventually(async () => (await sizeOf(path)) >= stored)
      server.child.kill('SIGTERM')
      const { code, stderr } = await server.finished
      assert.equal(code, 0, stderr)
      server = await serveBerth(scope, env)
      assert.equal(await sizeOf(path), SENT_BYTES)
      await finish(path, bytes, SENT_BYTES)
    })

    test('continues immediately with what a killed server had stored', async () => {
      const bytes = randomBytes(2 * SENT_BYTES)
      const path = await begin()
      const first = { body: bytes.subarray(0, 1000) }
      assert.equal((await client.request('PATCH', path, first)).status, 202)
      await send(path, bytes, 1000, SENT_BYTES)
      const stored = store === 's3' ? limits.s3PartBytes : SENT_BYTES - 2 * 1024 * 1024
      await eventually(async () => (await sizeOf(path)) >= stored)
      server.child.kill('SIGKILL')
      await server.finished
      server = await serveBerth(scope, env)
      const size = await sizeOf(path)
      assert.ok(size >= stored, `${size} bytes`)
      await finish(path, bytes, size)
    })
  })
