import assert from 'node:assert/strict'
import { ImageContentsService } from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { startRecordedRun } from '@berth/server/registry/runs/recorded-run.ts'
import type { DescMethodUnary } from '@bufbuild/protobuf'
import { newName } from '../api/api-fixture.ts'
import { requestAt, shortName } from '../api/methods.ts'
import { createIdentity, createOrganization, createResource, createRole } from '../api/tenant.ts'
import { createSignedInBrowser } from '../browser/web-browser.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createClientTokens, createPerson, createSession } from '../signin/accounts.ts'
import { newClient } from '../signin/headless.ts'
import { submitConsent } from '../signin/oauth.ts'
import { SUBJECT, type TestIssuer } from '../tokens/issuer.ts'
import type { Tenants } from './tenants.ts'

/** For each method a request that succeeds, and the token of a caller who may send it. */

export interface MethodCall {
  readonly request: object
  readonly token: string
}

/** Returns what makes the call of a method. */
export function createMethodCalls(berth: TestBerth, tenants: Tenants, issuer: TestIssuer) {
  const { first, second, user, token, operatorToken } = tenants
  const operate = (path: string, body: object) =>
    createResource(berth, `/operator/v1/${path}`, body, operatorToken)
  const newAccount = async () =>
    (await operate('accounts', { email: `${newName('account')}@example.com`, name: 'Ada' })).localAccount
  const { store } = berth.berth.installation
  const newRun = async () => {
    const facts = { kind: 'collection', dryRun: true, actor: 'system' } as const
    return (await startRecordedRun(store, facts, () => undefined)).id
  }
  const newSession = async () => (await createSession(berth, { identity: user })).id

  const newInvite = async (organization: string): Promise<string> => {
    const roleUid = await createRole(berth, organization, ['groups.list'], newName('role'))
    const invite = { roleUid, ttl: '3600s', email: tenants.email }
    return (await createResource(berth, `/iam/v2beta1/groupInvites/${organization}`, invite)).uid
  }

  const special: Readonly<Record<string, () => object | Promise<object>>> = {
    'Invitations.AcceptReceivedInvite': async () => ({ uid: await newInvite(second.organization) }),
    'Invitations.FindReceivedInvites': async () => {
      for (const { organization } of [first, second]) await newInvite(organization)
      return {}
    },
    'Search.LookupResources': () => ({ uids: [first.organization, second.organization, user] }),
    'ImageContents.GetImageSbom': async () => ({
      ...(await first.requestOf(ImageContentsService.method.getImageSbom)),
      format: 1,
    }),
    // A user requests access once a day.
    'v1.Groups.RequestGroupAccess': async () => {
      await store.db.kysely.deleteFrom('access_requests').execute()
      return { groupId: first.organization }
    },
    'OperatorAccounts.ResetAccountPassword': async () => ({ uid: (await newAccount()).uid }),
    'OperatorAccounts.SuspendAccount': async () => ({ uid: (await newAccount()).uid }),
    'OperatorAccounts.ActivateAccount': async () => ({ uid: (await newAccount()).uid }),
    'OperatorAccounts.DeleteAccount': async () => ({ uid: (await newAccount()).uid }),
    'OperatorOrganizations.SuspendOrganization': async () => ({
      uid: await createOrganization(berth, newName('org')),
    }),
    'OperatorOrganizations.ActivateOrganization': () => ({ uid: second.organization }),
    'OperatorOrganizations.SetOrganizationLimits': () => ({
      uid: second.organization,
      limits: [{ kind: 'repos', max: 100n }],
    }),
    'OperatorSessions.EndSession': async () => ({ id: await newSession() }),
    'OperatorStorage.GetStorageRun': async () => ({ id: await newRun() }),
    'OperatorStorage.CancelStorageRun': async () => ({ id: await newRun() }),
  }
  const ofTokenService: Readonly<Record<string, () => Promise<MethodCall>>> = {
    'SecurityToken.Exchange': async () => {
      const claimMatch = { issuer: issuer.name, subject: SUBJECT }
      const identity = await createIdentity(berth, first.organization, { claimMatch })
      return {
        request: { aud: [berth.url], identity },
        token: await issuer.sign({ aud: berth.url }),
      }
    },
    'SecurityToken.ExchangeRefreshToken': async () => {
      const { refreshToken = '' } = await createClientTokens(berth, { identity: user })
      return { request: { aud: [berth.url] }, token: refreshToken }
    },
    'Auth.GetHeadlessSession': async () => {
      const client = newClient()
      const browser = await createSignedInBrowser(berth, user)
      const page = await browser.open(`/oauth?headless_code=${client.code}`)
      assert.match((await submitConsent(browser, page)).text, /You are signed in/)
      return { request: { code: client.code }, token }
    },
    'Auth.Delete': async () => {
      const id = await createPerson(berth)
      return { request: { id }, token: await berth.tokenOf(id) }
    },
  }
  return async (method: DescMethodUnary): Promise<MethodCall> => {
    const name = shortName(method)
    const own = await ofTokenService[name]?.()
    if (own !== undefined) return own
    const request =
      (await (special[name] ?? (() => first.requestOf(method)))()) ?? requestAt(method, first.organization)
    return { request, token: accessRuleOf(method).kind === 'platform' ? operatorToken : token }
  }
}
