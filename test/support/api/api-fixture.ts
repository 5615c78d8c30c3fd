import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Code } from '@berth/server/api/errors.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { openSqliteDb, type Sizes } from '@berth/server/storage/db.ts'
import { resourceTables } from '@berth/server/storage/schema/tables.ts'
import { anyDatabase, databases, serverDatabases, type TestDatabase } from '../database/databases.ts'
import { type S3Server, startS3, withoutS3 } from '../registry/s3.ts'
import { startTestBerth, type TestBerth, type TestBerthOptions } from '../server/test-berth.ts'
import { type GrpcClient, grpcClient } from './grpc.ts'
import type { DescriptionOptions } from './openapi.ts'
import { call, type RestReply } from './rest.ts'

/** Who takes part in the tests through the front door: servers, callers with their tokens, and what they make first. */

/** The API as one caller sees it. Paths are those of v2beta1, e.g. `iam/groups/<uid>`. */
export interface Api {
  readonly token: string
  get(path: string, query?: Readonly<Record<string, string | readonly string[]>>): Promise<RestReply>
  post(path: string, body?: unknown): Promise<RestReply>
  patch(path: string, body?: unknown, updateMask?: string): Promise<RestReply>
  delete(path: string): Promise<RestReply>
  /** What `post` made; fails when it was refused. */
  create(path: string, body: unknown): Promise<RestReply['body']>
}

export function apiOf({ url }: Pick<TestBerth, 'url'>, token: string, options: DescriptionOptions = {}): Api {
  const address = (path: string) => `${url}/${path.replace('/', '/v2beta1/')}`
  const post: Api['post'] = (path, body) => call('POST', address(path), { ...options, token, body })
  return {
    token,
    get: (path, query = {}) => {
      const search = new URLSearchParams()
      for (const [name, value] of Object.entries(query))
        for (const one of [value].flat()) search.append(name, one)
      return call('GET', `${address(path)}?${search}`, { ...options, token })
    },
    post,
    patch: (path, body, updateMask) => {
      const query = updateMask === undefined ? '' : `?updateMask=${encodeURIComponent(updateMask)}`
      return call('PATCH', address(path) + query, { ...options, token, body })
    },
    delete: (path) => call('DELETE', address(path), { ...options, token }),
    create: async (path, body) => {
      const reply = await post(path, body)
      assert.equal(reply.status, 200, reply.text)
      return reply.body
    },
  }
}

/** Names that no other test has. */
export function newName(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString('hex')}`
}

export const claimMatch = { issuer: 'https://issuer.example', subject: 'robot' }

export function managedRole(name: string): string {
  const role = managedRoleByName.get(name)
  if (role === undefined) throw new Error(`there is no managed role ${name}`)
  return role.uid
}

/** An organization of its own for one test, with one identity that owns it. */
export interface Organization {
  readonly uid: string
  readonly name: string
  readonly owner: { readonly uid: string; readonly api: Api }
  /** A new identity that holds a role, a managed one by name, in a group; in the organization when none is named. */
  member(
    role: string,
    group?: string,
  ): Promise<{ readonly uid: string; readonly api: Api; readonly binding: string }>
}

/** The parts of a server that the tests of one file share. */
export interface ApiFixture {
  readonly berth: TestBerth
  /** The platform's administrator. */
  readonly admin: Api
  readonly grpc: GrpcClient
  organization(): Promise<Organization>
  /** Fails unless `work` leaves every resource, counter and audit record as it was. */
  writesNothing<T>(work: () => Promise<T>): Promise<T>
  auditEventsOf(uid: string): Promise<{ method: string; actor: string }[]>
}

/** What a suite tests on one of its databases. */
export interface SuiteScope {
  /** Whether this is the first database. */
  readonly isFirst: boolean
  /** Declares a test of what does not depend on the engine: on the first database alone. */
  testOnce(name: string, work: (t: TestContext) => Promise<void> | void): void
  /** The rows of a table that does not depend on the engine: all on the first database, a sample on a further one. */
  rowsOf<T>(rows: readonly T[]): readonly T[]
}

/** One row of so many is in the sample. */
const SAMPLE_STEP = 8

/** One suite per database, each with a server of its own. */
export function onEveryDatabase(
  title: string,
  suite: (cast: () => ApiFixture, scope: SuiteScope) => void,
  {
    sizes,
    only,
    stores,
    ...options
  }: TestBerthOptions & {
    readonly sizes?: Sizes
    /** Where only one of them can tell, or those with servers, or where the engine makes no difference. */
    readonly only?: TestDatabase['name'] | 'servers' | 'first'
    /** Once more with the bytes of images in a bucket, where there is an S3 server. */
    readonly stores?: boolean
  } = {},
): void {
  const named = () => databases.filter(({ name }) => only === undefined || name === only)
  const all = only === 'servers' ? serverDatabases : only === 'first' ? anyDatabase : named()
  const rounds = all.map((database) => ({ database, inBucket: false }))
  if (stores === true) rounds.push(...rounds.slice(0, 1).map((round) => ({ ...round, inBucket: true })))
  for (const [place, { database, inBucket }] of rounds.entries()) {
    const isFirst = place === 0
    const skip = inBucket && withoutS3
    describe(`${title} (${database.name}${inBucket ? ', s3' : ''})`, { skip }, () => {
      let cast: ApiFixture | undefined
      let s3: S3Server | undefined
      const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
      before(async () => {
        const small = sizes === undefined ? database : withSizes(database, sizes, dataDir)
        s3 = inBucket ? await startS3() : undefined
        const env = { ...options.env, ...(await s3?.bucket())?.env }
        cast = createApiFixture(await startTestBerth(small, { ...options, env }))
      })
      after(async () => {
        cast?.grpc.close()
        await cast?.berth.stop()
        await s3?.stop()
        rmSync(dataDir, { recursive: true, force: true })
      })
      const started = () => {
        if (cast === undefined) throw new Error('the server has not started')
        return cast
      }
      suite(started, {
        isFirst,
        testOnce: (name, work) => {
          if (isFirst) test(name, work)
        },
        rowsOf: (rows) => rows.filter((_, at) => isFirst || at % SAMPLE_STEP === 0),
      })
    })
  }
}

/** For what stores bytes of images: besides every database, once with a bucket. */
export function onEveryStore(
  title: string,
  suite: (cast: () => ApiFixture, scope: SuiteScope) => void,
  options: TestBerthOptions = {},
): void {
  onEveryDatabase(title, suite, { ...options, stores: true })
}

/** Bytes are base64: JSON has a number for each, which takes most of the time of a comparison. */
function serializeRow(row: object): string {
  return JSON.stringify(
    Object.entries(row).map(([column, value]) => [
      column,
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ]),
  )
}

/** For suites that start their server themselves. */
export function createApiFixture(berth: TestBerth): ApiFixture {
  const admin = apiOf(berth, berth.token)
  const { db } = berth.berth.installation.store
  const contents = async () => {
    const rows = []
    for (const table of [
      ...resourceTables,
      'organization_names',
      'repo_readmes',
      'tag_digests',
      'deployments',
      'registry_settings',
      'identity_metadata',
      'resource_limits',
      'access_requests',
      'idempotency_keys',
      'counts',
      'tombstones',
      'audit_events',
    ] as const) {
      rows.push(await db.kysely.selectFrom(table).selectAll().execute())
    }
    // Refusals and exchanges are recorded too, and about a second later.
    const written = (row: object) =>
      !('code' in row && 'issuer' in row) || (Number(row.code) === 0 && row.issuer === '')
    return new Set(rows.flat().filter(written).map(serializeRow))
  }
  return {
    berth,
    admin,
    grpc: grpcClient(berth.url),
    async organization() {
      const name = newName('org')
      const { uid } = await admin.create('iam/groups', { name })
      const member: Organization['member'] = async (role, group = uid) => {
        const identity = await admin.create(`iam/identities/${uid}`, { name: newName('member'), claimMatch })
        const roleUid = role.includes('/') ? role : managedRole(role)
        const binding = await admin.create(`iam/roleBindings/${group}`, {
          identityUid: identity.uid,
          roleUid,
        })
        return {
          uid: identity.uid,
          api: apiOf(berth, await berth.tokenOf(identity.uid)),
          binding: binding.uid,
        }
      }
      return { uid, name, owner: await member('owner'), member }
    },
    async writesNothing(work) {
      const earlier = await contents()
      const result = await work()
      const later = await contents()
      assert.deepEqual(
        {
          written: [...later].filter((row) => !earlier.has(row)),
          gone: [...earlier].filter((row) => !later.has(row)),
        },
        { written: [], gone: [] },
      )
      return result
    },
    auditEventsOf: (uid) =>
      db.kysely
        .selectFrom('audit_events')
        .select(['method', 'actor'])
        .where('parent', '=', uid)
        .orderBy('id')
        .execute(),
  }
}

/** What an error answers, in the words of its HTTP status, code and details. */
export interface ExpectedError {
  readonly status: number
  readonly code: Code
  /** Fields of the BadRequest, in order. */
  readonly fields?: readonly string[]
  /** Type of the PreconditionFailure. */
  readonly violation?: string
  /** Subject of the QuotaFailure. */
  readonly quota?: string
  /** Type and name of the ResourceInfo; `'*'` is any name. */
  readonly resource?: readonly [type: string, name: string]
}

const reasons: Readonly<Record<number, string>> = {
  3: 'INVALID_ARGUMENT',
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  7: 'PERMISSION_DENIED',
  8: 'RESOURCE_EXHAUSTED',
  9: 'FAILED_PRECONDITION',
  10: 'ABORTED',
  13: 'INTERNAL',
  16: 'UNAUTHENTICATED',
}

/** Fails unless the reply is exactly this error, with an ErrorInfo first and no detail besides the expected ones. */
export function assertError(reply: RestReply, expected: ExpectedError): void {
  const { status, code, fields, violation, quota, resource } = expected
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text)
  const [info, ...details] = reply.body.details
  assert.deepEqual(info, {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: reasons[code],
    domain: '127.0.0.1',
  })
  const seen = details.map((detail: Record<string, unknown>) => {
    switch (detail['@type']) {
      case 'type.googleapis.com/google.rpc.BadRequest':
        return { fields: (detail['fieldViolations'] as { field: string }[]).map(({ field }) => field) }
      case 'type.googleapis.com/google.rpc.PreconditionFailure':
        return { violation: (detail['violations'] as { type: string }[])[0]?.type }
      case 'type.googleapis.com/google.rpc.QuotaFailure':
        return { quota: (detail['violations'] as { subject: string }[])[0]?.subject }
      case 'type.googleapis.com/google.rpc.ResourceInfo':
        return {
          resource: [detail['resourceType'], resource?.[1] === '*' ? '*' : (detail['resourceName'] ?? '')],
        }
      default:
        return detail
    }
  })
  const wanted = [
    fields && { fields },
    violation && { violation },
    quota && { quota },
    resource && { resource },
  ]
  assert.deepEqual(
    seen,
    wanted.filter((detail) => detail !== undefined),
    reply.text,
  )
}

export const invalidFieldError = (...fields: string[]): ExpectedError => ({ status: 400, code: 3, fields })
export const notFoundError = (type: string, uid: string): ExpectedError => ({
  status: 404,
  code: 5,
  resource: [type, uid],
})
export const alreadyExistsError = (type: string, name: string): ExpectedError => ({
  status: 409,
  code: 6,
  resource: [type, name],
})
export const permissionDeniedError: ExpectedError = { status: 403, code: 7 }
export const quotaExceededError = (organization: string): ExpectedError => ({
  status: 429,
  code: 8,
  quota: organization,
})
export const failedPreconditionError = (violation: string): ExpectedError => ({
  status: 400,
  code: 9,
  violation,
})

/** A database whose limits are so small that a handful of rows already goes the ways of a million. */
function withSizes(database: TestDatabase, sizes: Sizes, dataDir: string): TestDatabase {
  const open = database.open ?? (() => openSqliteDb(join(dataDir, 'berth.db')))
  return { ...database, open: async () => ({ ...(await open()), sizes }) }
}
