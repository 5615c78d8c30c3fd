import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Code, codeName } from '@berth/server/api/errors.ts'
import { emailRoot } from '@berth/server/iam/invites/invited-organizations.ts'
import type { DescMethodUnary } from '@bufbuild/protobuf'
import { type GrpcClient, type GrpcFailure, grpcClient } from '../support/api/grpc.ts'
import { isRead, methods, shortName } from '../support/api/methods.ts'
import { type SharedDatabase, selectedCluster } from '../support/database/databases.ts'
import { assertGolden } from '../support/golden.ts'
import { cleanups } from '../support/server/process.ts'
import { imageJobs, startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createMethodCalls } from '../support/shards/method-calls.ts'
import {
  findShards,
  recordShards,
  reportShards,
  type StatementShards,
} from '../support/shards/record-shards.ts'
import { createRouteCalls } from '../support/shards/route-calls.ts'
import { createTenants, EMAIL } from '../support/shards/tenants.ts'
import { startUpstreamProvider } from '../support/signin/upstream-provider.ts'
import { startIssuer } from '../support/tokens/issuer.ts'

/** On a distributed database, statements of requests ask the servers of the organizations that they name. */

/** Methods whose sample request fails, and why none can succeed. All others succeed, so that all of their statements run. */
const unsuccessful: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['GenerateScimToken', 'RegenerateScimToken', 'RevokeScimToken', 'SetScimEnabled'].flatMap((name) => [
      [`IdentityProviders.${name}`, 'not implemented: SCIM'],
      [`v1.IdentityProviders.${name}`, 'not implemented: SCIM'],
    ]),
  ),
  'v1.GroupInvites.CreateWithGroup': 'not implemented: internal to the public service',
  'v1.Registry.GetBuildStatus': 'not implemented: builds',
  'v1.Registry.GetChart': 'not implemented: charts',
  'v1.Registry.GetHelm': 'not implemented: charts',
  'v1.Registry.GetPackageVersionMetadata': 'no package has known versions',
  'v1.Registry.GetSyncStatus': 'not implemented: copies by the server',
  'v1.Registry.GetUpdateStatus': 'not implemented: copies by the server',
  'v1.Registry.ListBuildReports': 'not implemented: builds',
  'v1.Registry.ListChartsByImageRepo': 'not implemented: charts',
  'v1.Registry.ListEolTags': 'not implemented: ends of life',
  'v1.Registry.ListSyncStatuses': 'not implemented: copies by the server',
  'v1.Subscriptions.Create': 'not implemented: events',
  'v1.Subscriptions.Delete': 'there are no subscriptions',
}

/** Why calls ask every shard. */
const reasons: Readonly<Record<string, string>> = {
  'OperatorAccounts.ListAccounts': 'lists all users',
  'OperatorJobs.ListJobRuns': 'lists jobs of all organizations',
  'OperatorJobs.ListJobs': 'lists jobs of all organizations',
  'OperatorJobs.ListMails': 'lists emails of all organizations',
  'OperatorOrganizations.ListOrganizations': 'lists all organizations',
  'OperatorStorage.GetStorageStatus': 'adds up the storage of all organizations',
}

/** Its second request fails. */
const FETCHED_ONCE = 'Auth.GetHeadlessSession'

const IN_ONE = ' in one organization'
const IN_FOLDERS = ' in folders of two organizations'
/** Calls with `branchesMax` of 1: two scopes are too many for a part of the statement each, as 65 are otherwise. */
const MANY = ', many scopes'
const BRANCHES_MAX = 64

/** uids of organizations and users in the values of a statement, at least one: that of the installation is ''. */
function rootsIn(values: readonly unknown[]): ReadonlySet<string> {
  const texts = values.filter((value) => typeof value === 'string')
  const uids = texts.flatMap((text) => text.match(/(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])/g) ?? [])
  return new Set(uids.length === 0 ? [''] : uids)
}

/** A statement without its values and without the lengths of its lists. */
function shapeOf(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\$\d+/g, '?')
    .replace(/\((?:\?(?:, )?)+\)/g, '(?)')
    .replace(/(?:\(\?\)(?:, )?){2,}/g, '(?)')
    .trim()
}

/** Whether a statement reads the roles of the caller, which are in all of its organizations. */
function readsPermissions(text: string): boolean {
  return /^select b\.parent as scope, b\.role_uid, r\.capabilities/.test(text)
}

interface RecordedStatement extends StatementShards {
  /** The method or route. */
  readonly caller: string
  /** Shards of the organizations that it names. */
  readonly named: ReadonlySet<string>
}

const cluster = selectedCluster

describe('shards of statements', { skip: cluster === undefined && 'no Citus cluster is selected' }, () => {
  const suite = cleanups()
  let berth: TestBerth
  let client: GrpcClient
  let caller = ''
  /** Why calls failed, by their name. */
  const failures = new Map<string, string>()
  const recorded: (StatementShards & { readonly caller: string })[] = []
  let statements: readonly RecordedStatement[]
  /** Of the caller. */
  let organizations: readonly string[]
  let shardOf: ReadonlyMap<string, string>
  let shardCount: number

  /** Runs a call of a method or route, and records its statements. */
  const run = async <T>(name: string, call: () => Promise<T>): Promise<T | undefined> => {
    caller = name
    try {
      return await call()
    } catch (error) {
      failures.set(name, String(error))
      return undefined
    } finally {
      caller = ''
    }
  }
  const callMethod = (name: string, method: DescMethodUnary, request: object, token: string) =>
    run(name, () =>
      client.call(method, request as never, { token, deadlineMs: 20_000 }).catch((error: GrpcFailure) => {
        throw new Error(`${codeName[error.code as Code]}: ${error.details}`)
      }),
    )

  before(async () => {
    const shared: SharedDatabase = await (cluster as NonNullable<typeof cluster>).share()
    suite.after(() => shared.close())
    const first = await shared.open()
    await reportShards(first)
    await first.close()
    const sizes = { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: BRANCHES_MAX }
    const open = async () => ({ ...(await shared.open()), sizes })
    berth = await startTestBerth({ name: 'citus', open }, imageJobs)
    suite.after(() => berth.stop())
    client = grpcClient(berth.url)
    suite.after(() => client.close())
    const { db } = berth.berth.installation.store
    const tenants = await createTenants(berth, async (root, others) => {
      const shards = await findShards(db, [root, ...others])
      return others.every((one) => shards.get(one) !== shards.get(root))
    })
    const upstream = await startUpstreamProvider(suite, () => berth.url)
    const callOf = createMethodCalls(berth, tenants, await startIssuer(suite))
    const routes = await createRouteCalls(berth, tenants, upstream)
    const recording = await recordShards(db, (statement) => {
      if (caller !== '') recorded.push({ ...statement, caller })
    })
    suite.after(() => recording.stop())
    for (const method of methods) {
      const { request, token } = await callOf(method)
      const name = shortName(method)
      await callMethod(name, method, request, token)
      const isList = method.input.field['uidp'] !== undefined
      const within = { uidp: { descendantsOf: tenants.first.organization } }
      if (isList) {
        await callMethod(name + IN_ONE, method, within, token)
        await callMethod(name + IN_FOLDERS, method, {}, tenants.folderToken)
      }
      if (!isRead(method) || name === FETCHED_ONCE) continue
      sizes.branchesMax = 1
      await callMethod(name + MANY, method, request, token)
      if (isList) {
        await callMethod(name + IN_ONE + MANY, method, within, tenants.folderToken)
        for (const token of [tenants.folderToken, tenants.otherFolderToken]) {
          const pages = (request: object) => callMethod(name + IN_FOLDERS + MANY, method, request, token)
          const first = await pages({ pageSize: 1 })
          const { nextPageToken: pageToken = '' } = (first ?? {}) as { readonly nextPageToken?: string }
          for (const request of [{}, { pageSize: 1, pageToken }, { pageSize: 1, pageToken, skip: 1 }])
            await pages(request)
        }
      }
      sizes.branchesMax = BRANCHES_MAX
    }
    for (const [name, call] of Object.entries(routes)) await run(name, call)
    recording.stop()
    shardCount = recording.shardCount
    organizations = [tenants.first.organization, tenants.second.organization]
    shardOf = await findShards(db, new Set(recorded.flatMap(({ values }) => [...rootsIn(values)])))
    statements = recorded.map((statement) => ({
      ...statement,
      named: new Set([...rootsIn(statement.values)].flatMap((root) => shardOf.get(root) ?? [])),
    }))
  })
  after(() => suite.run())

  test('each call succeeds, but for those of the list', () => {
    const expected = (name: string) =>
      unsuccessful[name.replace(MANY, '').replace(IN_ONE, '').replace(IN_FOLDERS, '')]
    assert.deepEqual(
      [...failures].filter(([name]) => expected(name) === undefined),
      [],
    )
    assert.deepEqual(
      Object.keys(unsuccessful).filter((name) => !failures.has(name)),
      [],
    )
  })

  test('a list asks the shards of the organizations that it is about: all of the caller, or one', () => {
    const lists = methods
      .filter((method) => method.input.field['uidp'] !== undefined)
      .map(shortName)
      .filter((name) => unsuccessful[name] === undefined)
    const read = statements.filter(({ text }) => !readsPermissions(text))
    const [one = '', other = ''] = organizations.map((uid) => shardOf.get(uid))
    const isOfBoth = ({ shards }: RecordedStatement) => shards.has(one) && shards.has(other)
    assert.deepEqual(
      lists.filter((name) => !read.some((statement) => statement.caller === name && isOfBoth(statement))),
      ['v1.Subscriptions.List'],
      'lists that no statement reads from both organizations: there are no subscriptions',
    )
    const namesOther = ({ values }: RecordedStatement) => rootsIn(values).has(organizations[1] ?? '')
    assert.deepEqual(
      [...new Set(read.filter(namesOther).map(({ caller }) => caller.replace(MANY, '')))].filter((name) =>
        name.endsWith(IN_ONE),
      ),
      [`v1.RoleBindings.List${IN_ONE}`],
      'lists of one organization that name the other: this one also lists all groups, roles and identities of the caller',
    )
  })

  test('received invites are read from the shard of the address, and from those of the organizations that invited it', () => {
    const read = (table: string) =>
      statements
        .filter(({ caller, text }) => caller === 'Invitations.FindReceivedInvites' && text.includes(table))
        .map(({ shards }) => [...shards].toSorted())
    assert.deepEqual(read('invited_organizations'), [[shardOf.get(emailRoot(EMAIL))]])
    assert.deepEqual(read('group_invites'), [organizations.map((uid) => shardOf.get(uid)).toSorted()])
  })

  test('copies of a repo are read from the organizations that have some', () => {
    const [own = '', other = ''] = organizations.map((uid) => shardOf.get(uid))
    const read = (table: string) =>
      statements
        .filter(
          ({ caller, text }) =>
            caller === 'repos: change of a catalog field' && text.includes(`from "${table}"`),
        )
        .map(({ shards }) => [...shards].toSorted())
    assert.deepEqual(read('copying_organizations'), [[own], [other]], 'of the repo, and of its copy')
    assert.deepEqual(read('repos'), [[own, other].toSorted(), [other]])
  })

  test('a request asks the shards of the organizations that it names, but for the statements of the list', (t) => {
    const wide = statements
      .filter(({ shards, named }) => [...shards].some((shard) => !named.has(shard)))
      .map((one) => ({ ...one, caller: one.caller.replace(MANY, '') }))
    assert.deepEqual(
      wide
        .filter(({ shards }) => shards.size < shardCount)
        .map((one) => `${one.caller}: ${one.shards.size} ${shapeOf(one.text)}`),
      [],
      'statements that ask shards of organizations that they do not name, but not all shards',
    )
    const shapesOf = (all: readonly RecordedStatement[]) => new Set(all.map(({ text }) => shapeOf(text)))
    const calls = new Set(statements.map((one) => one.caller))
    const several = statements.filter(
      ({ shards, named }) => shards.size > 1 && [...shards].every((shard) => named.has(shard)),
    )
    const callers = [...new Set(wide.map((one) => one.caller))]
    assert.deepEqual(callers.toSorted(), Object.keys(reasons).toSorted(), 'calls that ask every shard')
    const lines = [...Map.groupBy(wide, ({ text }) => shapeOf(text))].sort().map(([shape, all]) => {
      const by = [...new Set(all.map((one) => one.caller))].sort()
      return [shape, ...by.map((name) => `  ${name}: ${reasons[name]}`)].join('\n')
    })
    t.diagnostic(
      `${calls.size} calls, ${statements.length} statements of ${shapesOf(statements).size} shapes; ${several.length} of ${shapesOf(several).size} shapes ask several shards, those that they name; ${lines.length} shapes ask all`,
    )
    assertGolden(
      'all-shards.txt',
      `Statements of requests that ask every shard of a distributed database, and why; all others ask those of the organizations that they name.

${lines.join('\n\n')}
`,
    )
  })
})
