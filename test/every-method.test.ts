import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { codeName } from '@berth/server/api/errors.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { create, type DescMethodUnary, getOption, type JsonObject, toJson } from '@bufbuild/protobuf'
import { type GrpcClient, type GrpcFailure, grpcClient } from './support/api/grpc.ts'
import { hasRest, methods, requestAt, shortName } from './support/api/methods.ts'
import { call } from './support/api/rest.ts'
import { createTenant, type Tenant } from './support/api/sample-requests.ts'
import { bindRole, createIdentity, createOrganization } from './support/api/tenant.ts'
import { engineDatabases } from './support/database/databases.ts'
import { assertGolden } from './support/golden.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'

/** Each method of the contract, as the owner of an organization may call it: by gRPC, by REST, and by the names of v2. */

interface RestForm {
  readonly verb: string
  readonly path: string
  readonly body: unknown
}

/** A request as REST has it, from what gRPC would send (google.api.http). */
function restFormOf(method: DescMethodUnary, request: object): RestForm {
  const rule = getOption(method, http)
  const json = toJson(method.input, create(method.input, request as never), {
    useProtoFieldName: true,
  }) as JsonObject
  const take = (path: string): string => {
    let holder: JsonObject = json
    const names = path.split('.')
    for (const name of names.slice(0, -1)) holder = (holder[name] ?? {}) as JsonObject
    const last = names.at(-1) ?? ''
    const value = String(holder[last] ?? '')
    delete holder[last]
    return value
  }
  const path = String(rule.pattern.value).replace(/\{([^=}]+)[^}]*\}/g, (_, field: string) => take(field))
  const body = rule.body === '*' ? json : rule.body === '' ? undefined : (json[rule.body] ?? {})
  if (rule.body !== '' && rule.body !== '*') delete json[rule.body]
  const query = new URLSearchParams()
  if (rule.body !== '*') {
    for (const [name, value] of Object.entries(json)) query.set(name, String(value))
  }
  // A create of a root has no parent in its path.
  const address = path.replace(/\/$/, '')
  return {
    verb: rule.pattern.case?.toUpperCase() ?? '',
    path: `${address}${query.size === 0 ? '' : `?${query}`}`,
    body,
  }
}

const asItIs = (path: string) => path
/** By the other name of the version, or as version 1 would be called by the paths of version 2. */
const otherwise = (path: string) =>
  path
    .replace('/v2beta1/', '/v2/')
    .replace(/(?<=^\/iam\/v1\/)rolebindings/, 'roleBindings')
    .replace(/(?<=^\/iam\/v1\/)account_associations/, 'accountAssociations')
    .replace(/(?<=^\/iam\/v1\/)group_invites/, 'groupInvites')

for (const [place, database] of engineDatabases.entries()) {
  describe(`every method (${database.name})`, () => {
    let berth: TestBerth
    let client: GrpcClient
    let tenant: Tenant
    let token: string
    before(async () => {
      berth = await startTestBerth(database)
      client = grpcClient(berth.url)
      const organization = await createOrganization(berth, 'every.example')
      tenant = await createTenant(berth, organization)
      const owner = await createIdentity(berth, organization)
      await bindRole(berth, organization, owner, 'owner')
      token = await berth.tokenOf(owner)
      // The owner's email address is of the organization's own domain.
      await call('PATCH', `${berth.url}/iam/v2beta1/groups/${organization}`, {
        token: berth.token,
        body: { verified: true, kind: 'ORG_KIND_CUSTOMER' },
      })
      const { kysely } = berth.berth.installation.store.db
      await kysely
        .updateTable('identities')
        .set({ email: 'owner@every.example' })
        .where('uid', '=', owner)
        .execute()
    })
    after(async () => {
      client.close()
      await berth.stop()
    })

    test('answers by REST and by gRPC alike, under both names of the version and both spellings of version 1', async () => {
      const rows: string[] = []
      for (const method of methods) {
        const fresh = async () => {
          // Asking to be let in is for once a day.
          await berth.berth.installation.store.db.kysely.deleteFrom('access_requests').execute()
          return (await tenant.requestOf(method)) ?? requestAt(method, tenant.organization)
        }
        const byGrpc = async () => {
          try {
            await client.call(method, (await fresh()) as never, { token, deadlineMs: 10_000 })
            return 0
          } catch (error) {
            return (error as GrpcFailure).code as number
          }
        }
        const byRest = async (spelled: (path: string) => string) => {
          const { verb, path, body } = restFormOf(method, await fresh())
          const reply = await call(verb, `${berth.url}${spelled(path)}`, {
            token,
            ...(body === undefined ? {} : { body }),
          })
          return reply.status === 200 ? 0 : (reply.body.code as number)
        }
        const code = await byGrpc()
        // Which name a method has does not depend on the engine: a further one gets each method by one of them.
        const names = place === 0 ? [asItIs, otherwise] : [rows.length % 2 === 0 ? asItIs : otherwise]
        const others: number[] = []
        for (const name of hasRest(method) ? names : []) others.push(await byRest(name))
        assert.deepEqual(
          others,
          others.map(() => code),
          shortName(method),
        )
        const outcome =
          code === 0 ? 'works' : Object.entries(codeName).find(([number]) => Number(number) === code)?.[1]
        rows.push(`${shortName(method).padEnd(64)} ${accessRuleOf(method).kind.padEnd(10)} ${outcome}`)
      }
      assertGolden(
        'methods.txt',
        `Every method, called by an organization's owner with a request that fits: the same by gRPC, by REST, under v2beta1 and v2 and both spellings of v1, on every database.

${rows.join('\n')}
`,
      )
    })
  })
}
