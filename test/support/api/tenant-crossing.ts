import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { before, test } from 'node:test'
import { file_google_rpc_error_details } from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { rootOf } from '@berth/server/api/uid.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { resourceTables } from '@berth/server/storage/schema/tables.ts'
import { create, createRegistry, type DescMethodUnary, toJson, toJsonString } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { assertGolden } from '../golden.ts'
import type { ApiFixture } from './api-fixture.ts'
import type { GrpcFailure } from './grpc.ts'
import { methods, requestAt, shortName } from './methods.ts'
import { createTenant, type Tenant } from './sample-requests.ts'
import { bindRole, createIdentity, createOrganization } from './tenant.ts'
import { nameOf, type TextField, textFields, withText } from './text-fields.ts'

/**
 * Another tenant's uid in every field of every method. A caller that names a resource of another tenant must get exactly the response
 * of something that is not there, get to see nothing of it, and leave no trace on it.
 */

const errorDetails = createRegistry(file_google_rpc_error_details)

const MARK = 'seen-by-owners-only'
/** One field of so many is in the sample. */
const SAMPLE_STEP = 4
/** Over 20,000 requests, on a busy machine. */
const TIMEOUT_MS = 1_500_000

export interface CrossingOptions {
  /** Puts one of the uids below the organization into every fourth field, in turn, instead of all of them into each. */
  readonly sampled: boolean
}

export function testTenantCrossing(cast: () => ApiFixture, { sampled }: CrossingOptions): void {
  let mine: Tenant
  let theirs: Tenant
  let token: string
  before(async () => {
    const { berth } = cast()
    theirs = await createTenant(berth, await organizationOfDigit(), MARK)
    mine = await createTenant(berth, await createOrganization(berth, 'mine'), 'ours')
    const owner = await createIdentity(berth, mine.organization)
    await bindRole(berth, mine.organization, owner, 'owner')
    token = await berth.tokenOf(owner)
  })

  /** Some texts may not begin with a digit; the uids of both that are asked for do. */
  async function organizationOfDigit(): Promise<string> {
    for (let n = 0; ; n++) {
      const uid = await createOrganization(cast().berth, `theirs ${n}`)
      if (/^\d/.test(uid)) return uid
    }
  }

  async function answer(method: DescMethodUnary, request: object): Promise<{ code: number; text: string }> {
    try {
      const reply = await cast().grpc.call(method, request as never, { token, deadlineMs: 10_000 })
      return { code: 0, text: toJsonString(method.output, create(method.output, reply)) }
    } catch (error) {
      const { code, details, status } = error as GrpcFailure
      return {
        code,
        // As JSON, which has no lengths: a text in it may be shorter by a digit of a position.
        text: `${details} ${JSON.stringify(status?.details.map((detail) => toJson(AnySchema, detail, { registry: errorDetails })))}`,
      }
    }
  }

  async function everythingOf(root: string): Promise<string[]> {
    const { kysely } = cast().berth.berth.installation.store.db
    const rows = []
    for (const table of [
      ...resourceTables,
      'counts',
      'tombstones',
      'repo_readmes',
      'resource_limits',
    ] as const)
      rows.push(...(await kysely.selectFrom(table).selectAll().where('root', '=', rootOf(root)).execute()))
    return rows.map((row) => JSON.stringify(row)).sort()
  }

  /** A request of mine that has the text there; of an update, one that changes that. */
  async function requestWith(method: DescMethodUnary, field: TextField, text: string): Promise<object> {
    const request = withText(
      (await mine.requestOf(method)) ?? requestAt(method, mine.organization),
      field,
      text,
    )
    const [resource, ...inside] = field.path
    if (!('updateMask' in request) || resource?.message === undefined || nameOf(field).endsWith('.uid'))
      return request
    const end = inside.findIndex(({ fieldKind }) => fieldKind === 'list' || fieldKind === 'map')
    const path = (end < 0 ? inside : inside.slice(0, end + 1)).map(({ name }) => name)
    return { ...request, updateMask: { paths: [path.join('.')] } }
  }

  test('R17: its uids in any field of any method are as good as uids of nothing', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const missing = [`${theirs.organization}/${'0'.repeat(16)}`, `${theirs.uids['repo']}/${'0'.repeat(16)}`]
    const nowhere = `0${randomBytes(20).toString('hex').slice(1)}`
    // An association has the uid of its group.
    const foreign = [...new Set(Object.values(theirs.uids))].filter((uid) => uid.includes('/'))
    const sampleOf = new Map<string, string>()
    const untouched = await everythingOf(theirs.organization)
    const leaks: string[] = []
    const rows: string[] = []
    const own = new RegExp(`${mine.organization}(/[0-9a-f]{16})*`, 'g')
    let count = 0
    for (const method of methods.filter((one) => accessRuleOf(one).kind !== 'open')) {
      for (const textField of textFields(method.input)) {
        if (sampled && count++ % SAMPLE_STEP !== 0) continue
        const field = nameOf(textField)
        const ask = async (uid: string) => {
          const { code, text } = await answer(method, await requestWith(method, textField, uid))
          // What is in the caller's own organization may be named, and differs from request to request.
          const plain = text
            .replaceAll(uid, '<uid>')
            .replaceAll(rootOf(uid), '<root>')
            .replaceAll(own, '<own>')
            // Where the parser of expressions stops in a uid depends on its digits.
            .replaceAll(/line 1, column \d+: found \w+ but/g, '<position>')
          return { code, text: plain }
        }
        const codes = new Set<number>()
        // A root and something below one may differ in what is wrong with them as such; within each all must be equal.
        for (const [strangers, absent] of [
          [[theirs.organization], [nowhere]],
          [sampled ? [sampleFor(sampleOf, foreign, method, textField)] : foreign, missing],
        ] as const) {
          const expected = await Promise.all(absent.map(ask))
          for (const seen of await Promise.all(strangers.map(ask))) {
            codes.add(seen.code)
            if (seen.text.includes(MARK)) leaks.push(`${shortName(method)} ${field}: shows ${seen.text}`)
            if (
              seen.code !== 0 &&
              !expected.some(({ code, text }) => code === seen.code && text === seen.text)
            )
              leaks.push(
                `${shortName(method)} ${field}: ${seen.code} ${seen.text}, missing: ${expected[0]?.code} ${expected[0]?.text}`,
              )
            if (seen.code === 0 && !expected.some(({ code }) => code === 0))
              leaks.push(`${shortName(method)} ${field}: accepted, missing: ${expected[0]?.code}`)
          }
        }
        rows.push(
          `${shortName(method).padEnd(64)} ${field.padEnd(56)} ${[...codes].sort((a, b) => a - b).join(' ')}`,
        )
      }
    }
    assert.deepEqual(leaks, [])
    assert.deepEqual(await everythingOf(theirs.organization), untouched)
    // Which codes a field gives depends on the uids.
    if (sampled) return
    assertGolden(
      'tenant-crossing.txt',
      `What an owner of one organization hears with uids of another one in a field: RPC codes. Always the same as with uids of nothing.
A name that ends in [] is the keys of a map.

${rows.join('\n')}
`,
    )
  })
}

/** Chooses a uid, the same for one field of one resource: what a request stored under it, a later one finds for this uid and for missing ones. */
function sampleFor(
  chosen: Map<string, string>,
  uids: readonly string[],
  { parent }: DescMethodUnary,
  { path }: TextField,
): string {
  // Versions of the API name their services differently.
  const key = `${parent.name.replace(/Service$/, '')} ${path.at(-1)?.name}`
  const uid = chosen.get(key) ?? (uids[chosen.size % uids.length] as string)
  chosen.set(key, uid)
  return uid
}
