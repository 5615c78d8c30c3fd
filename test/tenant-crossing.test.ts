import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test } from 'node:test'
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethodUnary,
  ScalarType,
  toJsonString,
} from '@bufbuild/protobuf'
import { accessRule } from '../src/auth/authorize.ts'
import { rootOf } from '../src/core/uid.ts'
import { collections } from '../src/storage/tables.ts'
import { startTestBerth, type TestBerth } from './support/berth.ts'
import { expectGolden } from './support/golden.ts'
import { type GrpcClient, type GrpcFailure, grpcClient } from './support/grpc.ts'
import { methods, requestAt, shortName } from './support/methods.ts'
import { makeTenant, type Tenant } from './support/requests.ts'
import { bind, makeIdentity, makeOrganization } from './support/tenant.ts'

/**
 * Another tenant's uid in every field of every method. Whoever names something that is not theirs must hear exactly what they hear
 * of something that is not there, get to see nothing of it, and leave no trace on it.
 */

const MARK = 'nobody-elses-business'
type Holder = Record<string, unknown>

let berth: TestBerth
let client: GrpcClient
let mine: Tenant
let theirs: Tenant
let token: string
before(async () => {
  berth = await startTestBerth({ name: 'sqlite', open: undefined })
  client = grpcClient(berth.url)
  theirs = await makeTenant(berth, await makeOrganization(berth, 'theirs'), MARK)
  mine = await makeTenant(berth, await makeOrganization(berth, 'mine'), 'ours')
  const owner = await makeIdentity(berth, mine.organization)
  await bind(berth, mine.organization, owner, 'owner')
  token = await berth.tokenOf(owner)
})
after(async () => {
  client.close()
  await berth.stop()
})

/** Every text in a request type, as the path of fields to it. Masks name fields, page tokens are tested as such. */
function textFields(desc: DescMessage, above: readonly DescField[] = []): (readonly DescField[])[] {
  if (above.length > 5) return []
  return desc.fields.flatMap((field) => {
    const path = [...above, field]
    if (field.message !== undefined) {
      if (field.message.typeName.startsWith('google.protobuf.')) return []
      return field.fieldKind === 'map' ? [] : textFields(field.message, path)
    }
    if (field.name === 'page_token') return []
    return field.scalar === ScalarType.STRING ? [path] : []
  })
}

/** The request with the text in place of what the field held. */
function withText(request: object, path: readonly DescField[], text: string): object {
  const [field, ...rest] = path
  if (field === undefined) return request
  const copy: Holder = { ...request }
  const name = field.oneof === undefined ? field.localName : field.oneof.localName
  const held = copy[name] as Holder | undefined
  const before =
    field.oneof === undefined
      ? held
      : held?.['case'] === field.localName
        ? (held['value'] as object)
        : undefined
  const one = field.fieldKind === 'list' ? ((before as unknown as object[]) ?? [])[0] : before
  const inner = rest.length === 0 ? text : withText((one ?? {}) as object, rest, text)
  const value = field.fieldKind === 'list' ? [inner] : field.fieldKind === 'map' ? { INGESTER: inner } : inner
  copy[name] = field.oneof === undefined ? value : { case: field.localName, value }
  return copy
}

async function answer(method: DescMethodUnary, request: object): Promise<{ code: number; text: string }> {
  try {
    const reply = await client.call(method, request as never, { token, deadlineMs: 10_000 })
    return { code: 0, text: toJsonString(method.output, create(method.output, reply)) }
  } catch (error) {
    const { code, details, status } = error as GrpcFailure
    return {
      code,
      text: `${details} ${JSON.stringify(status?.details.map(({ value }) => Buffer.from(value).toString('latin1')))}`,
    }
  }
}

async function everythingOf(root: string): Promise<string> {
  const { kysely } = berth.berth.installation.store.db
  const rows = []
  for (const table of [...collections, 'counts', 'tombstones', 'repo_readmes', 'resource_limits'] as const)
    rows.push(await kysely.selectFrom(table).selectAll().where('root', '=', rootOf(root)).execute())
  return JSON.stringify(rows)
}

test('R17: another tenant’s uid in any field of any method is as good as one that is not there', async () => {
  const missing = [`${theirs.organization}/${'0'.repeat(16)}`, `${theirs.uids['repo']}/${'0'.repeat(16)}`]
  const nowhere = randomBytes(20).toString('hex')
  // An association has the uid of its group.
  const foreign = [...new Set(Object.values(theirs.uids))]
  const untouched = await everythingOf(theirs.organization)
  const leaks: string[] = []
  const rows: string[] = []
  for (const method of methods.filter((one) => accessRule(one).kind !== 'open')) {
    for (const path of textFields(method.input)) {
      const field = path.map(({ name }) => name).join('.')
      const ask = async (uid: string) => {
        const request = (await mine.requestOf(method)) ?? requestAt(method, mine.organization)
        const { code, text } = await answer(method, withText(request, path, uid))
        return { code, text: text.replaceAll(uid, '<uid>').replaceAll(rootOf(uid), '<root>') }
      }
      const codes = new Set<number>()
      // A root and something below one may differ in what is wrong with them as such; within each all must be equal.
      for (const [strangers, absent] of [
        [[theirs.organization], [nowhere]],
        [foreign.filter((uid) => uid.includes('/')), missing],
      ] as const) {
        const expected = await Promise.all(absent.map(ask))
        for (const uid of strangers) {
          const seen = await ask(uid)
          codes.add(seen.code)
          if (seen.text.includes(MARK)) leaks.push(`${shortName(method)} ${field}: shows ${seen.text}`)
          if (seen.code !== 0 && !expected.some(({ code, text }) => code === seen.code && text === seen.text))
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
  assert.equal(await everythingOf(theirs.organization), untouched)
  expectGolden(
    'tenant-crossing.txt',
    `What an owner of one organization hears with uids of another one in a field: RPC codes. Always the same as with uids of nothing.

${rows.join('\n')}
`,
  )
})
