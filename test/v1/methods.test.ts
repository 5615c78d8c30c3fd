import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { v1Files } from '@berth/contract/schema-files.ts'
import { codeName } from '@berth/server/api/errors.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import type { InvokeMethod } from '@berth/server/pipeline/call.ts'
import type { Store } from '@berth/server/storage/store.ts'
import { registryTranslation } from '@berth/server/v1/registry/registry.ts'
import { v1Translations } from '@berth/server/v1/services.ts'
import { create, type DescMethod, getOption } from '@bufbuild/protobuf'
import { assertError, onEveryDatabase } from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { requestAt } from '../support/api/methods.ts'
import { call } from '../support/api/rest.ts'

/** Version 1 as it is public: every method, and whether it works here or why not. */

const internal = 'internal to the public service'
const noScim = 'does not implement'
const noCharts = 'does not read charts'
const noBuilds = 'builds no images'
const noCopies = 'copies no images'
/** Not refused as such: nothing is there to be found. */
const notKnown = 'no package is known'
const noEndOfLife = 'does not know when software reaches its end of life'
const noEvents = 'sends no events'

/** By service and method: path of the first binding, and what refuses it. */
const table: readonly (readonly [service: string, method: string, binding: string, refusal?: string])[] = [
  ['Groups', 'Create', 'post /iam/v1/groups/{parent=**}'],
  ['Groups', 'Update', 'put /iam/v1/groups/{id=**}'],
  ['Groups', 'List', 'get /iam/v1/groups'],
  ['Groups', 'Delete', 'delete /iam/v1/groups/{id=**}'],
  ['Groups', 'LookupGroup', 'get /iam/v1/groups:lookupGroup'],
  ['Groups', 'RequestGroupAccess', 'post /iam/v1/groups/{group_id=**}:requestGroupAccess'],
  ['Groups', 'CheckEligibility', 'get /iam/v1/groups:checkEligibility'],
  ['Identities', 'Create', 'post /iam/v1/identities/{parent_id=**}'],
  ['Identities', 'Update', 'put /iam/v1/identities/{id=**}'],
  ['Identities', 'List', 'get /iam/v1/identities'],
  ['Identities', 'Lookup', 'get /iam/v1/identities/lookup'],
  ['Identities', 'Delete', 'delete /iam/v1/identities/{id=**}'],
  ['Roles', 'Create', 'post /iam/v1/roles/{parent_id=**}'],
  ['Roles', 'Update', 'put /iam/v1/roles/{id=**}'],
  ['Roles', 'List', 'get /iam/v1/roles'],
  ['Roles', 'Delete', 'delete /iam/v1/roles/{id=**}'],
  ['RoleBindings', 'Create', 'post /iam/v1/rolebindings/{parent=**}'],
  ['RoleBindings', 'CreateBatch', 'post /iam/v1/rolebindings/batch/{parent=**}'],
  ['RoleBindings', 'Update', 'put /iam/v1/rolebindings/{id=**}'],
  ['RoleBindings', 'List', 'get /iam/v1/rolebindings'],
  ['RoleBindings', 'Delete', 'delete /iam/v1/rolebindings/{id=**}'],
  ['IdentityProviders', 'Create', 'post /iam/v1/identityProviders/{parent_id=**}'],
  ['IdentityProviders', 'Update', 'put /iam/v1/identityProviders/{id=**}'],
  ['IdentityProviders', 'List', 'get /iam/v1/identityProviders'],
  ['IdentityProviders', 'Delete', 'delete /iam/v1/identityProviders/{id=**}'],
  [
    'IdentityProviders',
    'GenerateScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:generateScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'RegenerateScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:regenerateScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'RevokeScimToken',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:revokeScimToken',
    noScim,
  ],
  [
    'IdentityProviders',
    'SetScimEnabled',
    'post /iam/v1/identityProviders/{identity_provider_id=**}:setScimEnabled',
    noScim,
  ],
  ['GroupAccountAssociations', 'Create', 'post /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'Update', 'put /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'List', 'get /iam/v1/account_associations'],
  ['GroupAccountAssociations', 'Delete', 'delete /iam/v1/account_associations/{group=**}'],
  ['GroupAccountAssociations', 'Check', 'post /iam/v1/account_associations/{group=**}:check'],
  ['GroupInvites', 'Create', 'post /iam/v1/group_invites/{group=**}'],
  ['GroupInvites', 'CreateWithGroup', '', internal],
  ['GroupInvites', 'List', 'get /iam/v1/group_invites'],
  ['GroupInvites', 'Delete', 'delete /iam/v1/group_invites/{id=**}'],
  ['ExternalGroupRoleMappings', 'Create', 'post /iam/v1/externalGroupRoleMappings/{parent_id=**}'],
  ['ExternalGroupRoleMappings', 'Get', 'get /iam/v1/externalGroupRoleMappings/{uid=**}'],
  ['ExternalGroupRoleMappings', 'List', 'get /iam/v1/externalGroupRoleMappings'],
  ['ExternalGroupRoleMappings', 'Delete', 'delete /iam/v1/externalGroupRoleMappings/{id=**}'],
  ['ExternalGroupRoleMappings', 'BatchDelete', 'post /iam/v1/externalGroupRoleMappings:batchDelete'],
  ['PingService', 'Ping', 'get /ping/v1/ping'],
  ['Registry', 'CreateRepo', 'post /registry/v1/repos/{parent_id=**}'],
  ['Registry', 'UpdateRepo', 'put /registry/v1/repos/{id=**}'],
  ['Registry', 'ListRepos', 'get /registry/v1/repos'],
  ['Registry', 'DeleteRepo', 'delete /registry/v1/repos/{id=**}'],
  ['Registry', 'CreateTag', 'post /registry/v1/tags/{repo_id=**}'],
  ['Registry', 'UpdateTag', 'put /registry/v1/tags/{id=**}'],
  ['Registry', 'DeleteTag', 'delete /registry/v1/tags/{id=**}'],
  ['Registry', 'ListTags', 'get /registry/v1/tags'],
  ['Registry', 'GetRepoCountBySource', 'get /registry/v1/repocountbysource/{id=**}'],
  ['Registry', 'GetRepoTagsSummary', 'get /registry/v1/repotagssummary/{repo_id=**}'],
  ['Registry', 'ListEolTags', 'get /registry/v1/eoltags', noEndOfLife],
  ['Registry', 'ListTagHistory', 'get /registry/v1/tags/{parent_id=**}/history'],
  // No package is known: NOT_FOUND, as the public one says of those.
  ['Registry', 'GetPackageVersionMetadata', 'get /registry/v1/versions/{package=**}', notKnown],
  ['Registry', 'CreateDeployment', 'post /registry/v1/repos/{parent_id=**}/deployment'],
  ['Registry', 'UpdateDeployment', 'put /registry/v1/repos/{repo_id=**}/deployment'],
  ['Registry', 'GetDeployment', 'get /registry/v1/repos/{repo_id=**}/deployment'],
  ['Registry', 'GetRegistrySettings', 'get /registry/v1/settings/{registry_id=**}'],
  ['Registry', 'UpdateRegistrySettings', 'put /registry/v1/settings/{registry_id=**}'],
  ['Registry', 'GetSbom', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/sbom'],
  ['Registry', 'GetHelm', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/helm', noCharts],
  ['Registry', 'GetChart', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/chart', noCharts],
  ['Registry', 'ListChartsByImageRepo', 'get /registry/v1/repos/{repo_id=**}/chart-image-bindings', noCharts],
  ['Registry', 'GetImageConfig', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/imageconfig'],
  ['Registry', 'GetArchs', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/architectures'],
  ['Registry', 'GetSize', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/size'],
  ['Registry', 'GetRawSbom', 'get /registry/v1/repos/{repo_id=**}/digest/{digest=*}/rawsbom'],
  ['Registry', 'GetVulnReport', 'get /registry/v1/repos/{repo_id=**}/digests/{digest=*}/vulnreport'],
  ['Registry', 'ListManifestMetadata', 'get /registry/v1/repos/{repo_id=**}/manifestmetdata'],
  ['Registry', 'GetManifestDigestCount', 'get /registry/v1/digestcount/{parent_id=**}'],
  ['Registry', 'ListBuildReports', 'get /registry/v1/buildreports', noBuilds],
  ['Registry', 'GetBuildStatus', 'get /registry/v1/buildstatus', noBuilds],
  ['Registry', 'GetUpdateStatus', 'get /registry/v1/repos/{repo_id=**}:updatestatus', noCopies],
  ['Registry', 'GetSyncStatus', 'get /registry/v1/repos/{repo_id=**}:syncstatus', noCopies],
  ['Registry', 'ListSyncStatuses', 'get /registry/v1/syncstatuses', noCopies],
  ['Vulnerabilities', 'ListVulnReports', 'get /registry/v1/vuln_reports'],
  ['Vulnerabilities', 'GetRawVulnReport', 'get /registry/v1/vuln_reports/raw'],
  ['Vulnerabilities', 'ListVulnCountReports', 'get /registry/v1/vuln_reports/counts'],
  ['Vulnerabilities', 'ListCumulativeVulnCountReports', 'get /registry/v1/vuln_reports/counts_cumulative'],
  ['Subscriptions', 'Create', 'post /events/v1/subscriptions/{parent_id=**}', noEvents],
  ['Subscriptions', 'List', 'get /events/v1/subscriptions'],
  ['Subscriptions', 'Delete', 'delete /events/v1/subscriptions/{id=**}'],
]

const methods = v1Files.flatMap((file) => file.services).flatMap((service) => service.methods)

test('the methods and their paths are the public ones', () => {
  const served = methods.map((method) => {
    const { pattern } = getOption(method, http)
    const binding = pattern.case === undefined ? '' : `${pattern.case} ${String(pattern.value)}`
    return `${method.parent.name}.${method.name} ${binding}`
  })
  const known = table.map(([service, method, binding]) => `${service}.${method} ${binding}`)
  assert.deepEqual(served.sort(), known.sort())
})

onEveryDatabase('a method of version 1', (cast) => {
  for (const [service, name, , refusal] of table) {
    test(`${service}.${name} ${refusal === undefined ? 'is implemented' : `is rejected: ${refusal}`}`, async () => {
      const method = methods.find((one) => one.parent.name === service && one.name === name)!
      const { owner, uid } = await cast().organization()
      const { token } = owner.api
      const failure = await cast()
        .grpc.call(method as never, requestAt(method, uid) as never, { token })
        .then(
          () => undefined,
          (error: GrpcFailure) => error,
        )
      if (refusal === undefined) assert.notEqual(codeName[(failure?.code ?? 0) as 0], 'UNIMPLEMENTED')
      else {
        assert.equal(failure?.code, refusal === notKnown ? 5 : 12)
        if (refusal !== notKnown) assert.match(failure?.details ?? '', new RegExp(refusal))
      }
    })
  }
})

onEveryDatabase('a service of the public API that does not exist here', (cast) => {
  for (const [service, method, path] of [
    ['chainguard.platform.iam.v2beta1.TermsService', 'ListTerms', 'iam/v2beta1/terms'],
    ['chainguard.platform.advisory.SecurityAdvisory', 'ListDocuments', 'advisory/v1/documents'],
  ] as const)
    test(`${service}.${method}: REST replies NOT_FOUND, gRPC UNIMPLEMENTED`, async () => {
      const { owner } = await cast().organization()
      const { token } = owner.api
      for (const verb of ['GET', 'POST'])
        assertError(await call(verb, `${cast().berth.url}/${path}`, { token }), { status: 404, code: 5 })
      const [known] = methods as [DescMethod]
      const unknown = { ...known, name: method, parent: { ...known.parent, typeName: service } }
      const failure = await cast()
        .grpc.call(unknown as never, create(known.input) as never, { token })
        .then(
          () => assert.fail('the method is served'),
          (error: GrpcFailure) => error,
        )
      assert.equal(codeName[failure.code as 0], 'UNIMPLEMENTED', failure.details)
    })
})

describe('the options of a method of version 1 require what the method that it calls requires', () => {
  class Asked extends Error {
    readonly method: DescMethod
    constructor(method: DescMethod) {
      super(method.name)
      this.method = method
    }
  }
  const ask: InvokeMethod = (method) => Promise.reject(new Asked(method))
  const access = { grants: { holdings: new Map(), at: () => 0n, holding: () => [] } as never }

  // None of them gets as far as to read anything.
  const store = {} as Store
  for (const { service, translators } of [...v1Translations(store), registryTranslation(store)]) {
    for (const method of service.methods) {
      const translate = translators[method.localName]
      if (translate === undefined || method.name === 'CreateWithGroup') continue
      test(`${service.name}.${method.name}`, async () => {
        const request = create(method.input)
        const failure: unknown = await translate(request, ask, access).catch((error: unknown) => error)
        assert.ok(failure instanceof Asked, String(failure))
        const [old, newer] = [accessRuleOf(method), accessRuleOf(failure.method)]
        assert.equal(old.kind, newer.kind)
        if (old.kind !== 'open' && newer.kind !== 'open') assert.equal(old.capabilities, newer.capabilities)
      })
    }
  }
})
