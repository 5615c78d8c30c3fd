import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parentOf } from '@berth/server/api/uid.ts'
import {
  type Api,
  claimMatch,
  managedRole,
  newName,
  type Organization,
  onEveryDatabase,
} from './support/api/api-fixture.ts'
import { derivedResources } from './support/api/derived-resources.ts'
import { describeServedApi } from './support/api/openapi.ts'
import { newAccount } from './support/api/operator.ts'
import { call } from './support/api/rest.ts'
import { bearerOf, ociClient, pushImage, testImage } from './support/registry/registry.ts'
import type { TestBerth } from './support/server/test-berth.ts'

/** The examples of the reference, sent to a server as its readers would send them. */

const { document } = describeServedApi('http://127.0.0.1', '0')
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, ...operation })),
)
type Described = (typeof operations)[number]

const described = (id: string) => operations.find(({ operationId }) => operationId === id)!

/** Path variables by name, each with its example. */
function variablesOf({ parameters = [] }: Described): Record<string, string> {
  const entries = parameters.flatMap((parameter) =>
    'name' in parameter && parameter.in === 'path' ? [[parameter.name, String(parameter.example)]] : [],
  )
  return Object.fromEntries(entries)
}

function answerOf({ responses }: Described): Record<string, unknown> | undefined {
  const answer = responses[200]
  const content = answer !== undefined && 'content' in answer ? answer.content : undefined
  return content?.['application/json']?.example as Record<string, unknown> | undefined
}

const bodyOf = ({ requestBody }: Described) =>
  requestBody?.content['application/json']?.example as Record<string, unknown> | undefined

/** Operations whose example cannot be answered with what it asks for here. */
const exceptions: Readonly<Record<string, string>> = {
  GenerateScimToken: 'not implemented',
  RegenerateScimToken: 'not implemented',
  SetScimEnabled: 'not implemented',
}

/** Needed where an organization's owner may not: founding organizations, pages of the catalog, and advisories. */
const operatorsOnly = new Set([
  'CreateGroupAtRoot',
  'UpdateRepo',
  'UpdateRepoReadme',
  'ImportAdvisoryDocuments',
  'DeleteAdvisoryDocuments',
  'UpdateAdvisoryPublication',
  'CreateAdvisoryFeed',
  'UpdateAdvisoryFeed',
  'SyncAdvisoryFeed',
])

const sent = operations.filter(
  (operation) =>
    (operation.method === 'post' || operation.method === 'patch') &&
    bodyOf(operation) !== undefined &&
    exceptions[operation.operationId] === undefined,
)

/** Makes what the examples speak of: what they call it by, with what that is here. */
async function stage(berth: TestBerth, organization: Organization, admin: Api, operation: Described) {
  const { operationId } = operation
  const {
    uid: root,
    owner: { api },
  } = organization
  const stands: [there: string, here: string][] = []
  if (/^(ResetAccountPassword|EndIdentitySessions)$/.test(operationId))
    stands.push([uidOfExample(operation), (await newAccount(berth)).account.identity_uid])
  if (operationId === 'SetOrganizationLimits') stands.push([uidOfExample(operation), root])
  if (operationId === 'MoveTag') {
    const { uid, digest } = await pushTag(berth, organization)
    stands.push([uidOfExample(operation), uid], [String(bodyOf(operation)?.['digest']), digest])
  }
  if (operationId === 'CopyImage') {
    const { uid } = await pushTag(berth, organization)
    stands.push([uidOfExample(operation), parentOf(uid)])
    stands.push([JSON.stringify(bodyOf(operation)?.['reference']), '"latest"'])
  }
  if (operationId === 'ReadImageAgain')
    stands.push([uidOfExample(operation), parentOf((await pushTag(berth, organization)).uid)])
  /** Kinds that exist; tags need a manifest, which few operations name. */
  const stood = new Set(['Tag', 'AdvisoryFeed', 'AccountAssociation'])
  const stand = async (kind: string, path: string, body: object, caller = api) => {
    stood.add(kind)
    const made = await caller.create(path, body)
    stands.push([String(answerOf(described(`Get${kind}`))?.['uid']), made.uid])
    return made
  }
  const { uid: group } = await stand('Group', `iam/groups/${root}`, { name: newName('group') })
  const named = { name: newName('thing') }
  const { uid: identityUid } = await stand('Identity', `iam/identities/${group}`, { ...named, claimMatch })
  const capabilities = ['CAP_IAM_GROUPS_LIST']
  const { uid: roleUid } = await stand('Role', `iam/roles/${group}`, { ...named, capabilities })
  await stand('RoleBinding', `iam/roleBindings/${group}`, { identityUid, roleUid })
  await stand('Repo', `registry/repos/${group}`, named)

  if (operationId !== 'CreateAdvisoryFeed')
    await stand(
      'AdvisoryFeed',
      `vulnerabilities/advisoryFeeds/${group}`,
      { url: 'https://x.example/' },
      admin,
    )

  const viewer = managedRole('viewer')
  const oidc = { issuer: 'https://login.example.com', clientId: 'x', clientSecret: 'x' }
  const provider = { ...named, defaultRole: viewer, oidc }
  const { uid: providerUid } = await stand('IdentityProvider', `iam/identityProviders/${root}`, provider)
  const mapping = { externalGroupId: newName('group'), roleUid: viewer, scope: root }
  await stand('ExternalGroupRoleMapping', `iam/externalGroupRoleMappings/${providerUid}`, mapping)
  const email =
    operationId === 'AcceptReceivedInvite' ? { email: `${newName('reader')}@example.com` } : undefined
  if (email !== undefined) await setEmail(berth, organization.owner.uid, email.email)
  const invite = await stand('GroupInvite', `iam/groupInvites/${group}`, { roleUid, ttl: '3600s', ...email })
  if (operationId !== 'CreateAccountAssociation')
    await stand('AccountAssociation', `iam/accountAssociations/${group}`, {
      ...named,
      amazon: { account: '123456789012' },
    })
  for (const { schema, path, body } of derivedResources)
    if (!stood.has(schema.name) && operationId !== `Create${schema.name}`)
      await stand(schema.name, path(group).replace(/^\/(\w+)\/v2beta1\//, '$1/'), body())
  stands.push([String(answerOf(described('CreateGroupInvite'))?.['code']), invite.code])
  stands.push([String(answerOf(described('CreateGroupAtRoot'))?.['uid']), root])
  // The shortest last: it begins the others.
  return stands.sort(([a], [b]) => b.length - a.length)
}

async function setEmail({ berth }: TestBerth, identity: string, email: string): Promise<void> {
  const { kysely } = berth.installation.store.db
  await kysely.updateTable('identities').set({ email }).where('uid', '=', identity).execute()
}

/** The identity, organization or tag that the example of an operation is about. */
function uidOfExample(operation: Described): string {
  return variablesOf(operation)['uid'] ?? String(bodyOf(operation)?.['identityUid'])
}

/** A tag of an organization: its uid, and the digest of its manifest. */
async function pushTag(berth: TestBerth, { uid: root, owner }: Organization) {
  const client = ociClient(berth, await bearerOf(berth, owner.uid))
  const { digest } = await pushImage(client, `${root}/${newName('repo')}`, testImage(), 'latest')
  const { body } = await owner.api.get('registry/tags', { 'uidp.descendants_of': root })
  return { uid: body.tags[0].uid as string, digest }
}

onEveryDatabase('the examples of requests', (cast, { rowsOf }) => {
  for (const operation of rowsOf(sent)) {
    const { operationId, method, path } = operation
    test(`${operationId} accepts its example`, async () => {
      const { berth, admin } = cast()
      const organization = await cast().organization()
      const stands = await stage(berth, organization, admin, operation)
      const here = (text: string) => stands.reduce((at, [from, to]) => at.replaceAll(from, to), text)
      const variables = variablesOf(operation)
      const address = path.replace(/\{(\w+)\}/g, (_, name: string) => here(variables[name]!))
      const body = here(JSON.stringify(bodyOf(operation)))
      const token = path.startsWith('/operator/')
        ? berth.token
        : (operatorsOnly.has(operationId) ? admin : organization.owner.api).token
      const reply = await call(method.toUpperCase(), berth.url + address, { token, body })
      assert.equal(reply.status, 200, reply.text)
    })
  }
})

describe('the examples of answers', () => {
  test('describe the resource of the path, or its children', () => {
    const strangers = operations.flatMap((operation) => {
      const uid = answerOf(operation)?.['uid']
      const named = variablesOf(operation)['uid']
      if (uid === undefined || named === undefined) return []
      const fits = uid === named || (operation.method === 'post' && parentOf(String(uid)) === named)
      return fits ? [] : [operation.operationId]
    })
    assert.deepEqual(strangers, [])
  })

  test('repeat what the request of the same operation set', () => {
    for (const operation of sent.filter(({ operationId }) => /^(Create|Update)/.test(operationId))) {
      const request = bodyOf(operation) ?? {}
      const answer = answerOf(operation) ?? {}
      for (const [name, value] of Object.entries(request))
        if (name in answer && typeof value === 'string')
          assert.equal(answer[name], value, `${operation.operationId} ${name}`)
    }
  })
})
