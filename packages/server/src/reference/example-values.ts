import { createHash } from 'node:crypto'
import { resource } from '@berth/contract/gen/google/api/resource_pb.js'
import { currentFiles } from '@berth/contract/schema-files.ts'
import { hasOption } from '@bufbuild/protobuf'
import { parentOf } from '../api/uid.ts'
import { managedRoleByName } from '../iam/managed-roles.ts'

/**
 * The values of the examples: one organization, in which the same resources always have the same uids. The server accepts a request with
 * these values if its uids are those of existing resources.
 */

const ORGANIZATION = '7f3ac1b08e2d4956a0c7d41e5b92f6083d1ce745'
/** The group of the examples, in the organization of the examples. */
export const GROUP = `${ORGANIZATION}/2b9e60d7a41c58f3`
const IDENTITY = `${GROUP}/c05d18e6f7a2943b`
const ROLE = `${GROUP}/9d4f27b1e8c3605a`
const PROVIDER = `${ORGANIZATION}/5a1be93c7d20f864`
const REPO = `${GROUP}/e67c0a94b25d31f8`
const PERSON = 'b81f4c6d92e05a37f1c8d264e97b3a05d6c41f8e'
const ADVISORY = `${GROUP}/40d7b96e1fa8253c`

const viewer = managedRoleByName.get('viewer')!

/** Resources without a line in `uids` are in the group, with a uid derived from their name. */
const derivedUids = Object.fromEntries(
  currentFiles
    .flatMap((file) => file.messages)
    .filter((message) => hasOption(message, resource))
    .map(({ name }) => [name, `${GROUP}/${createHash('sha256').update(name).digest('hex').slice(0, 16)}`]),
)

/** By the name of the message: resources, and messages that show a part of one. */
const uids: Readonly<Record<string, string>> = {
  ...derivedUids,
  Group: GROUP,
  Identity: IDENTITY,
  IdentityMetadata: PERSON,
  LookupIdentityResponse: PERSON,
  Role: ROLE,
  RoleBinding: `${GROUP}/18a3f5c7096e4db2`,
  RoleBindingIdentity: IDENTITY,
  RoleBindingGroup: GROUP,
  RoleBindingRole: viewer.uid,
  RoleBindingProvider: PROVIDER,
  IdentityProvider: PROVIDER,
  ExternalGroupRoleMapping: `${PROVIDER}/d2805f6b9e4c317a`,
  AccountAssociation: GROUP,
  GroupInvite: `${GROUP}/73e1c84ad05b296f`,
  GroupInviteRole: ROLE,
  Repo: REPO,
  RepoReadme: REPO,
  RepoPolicy: REPO,
  Retention: REPO,
  UntaggedManifest: REPO,
  Tag: `${REPO}/8c29e5d1437fb06a`,
  Advisory: ADVISORY,
  AdvisoryEvent: `${ADVISORY}/61f2d97c08be345a`,
  AdvisoryFeed: `${GROUP}/b3d07f52ea6914c8`,
  AuditEvent: `${GROUP}/af50279ce8d1b463`,
  AdvisoryPublication: GROUP,
}

/** An association is identified by the uid of its group. */
const parents: Readonly<Record<string, string>> = { AccountAssociation: GROUP }

/** The uid in a request or its response; `owner` is the name of the message with the field. */
export function exampleUidOf(owner: string): string | undefined {
  return uids[owner] ?? uids[subjectOf(owner)]
}

/** The parent of a create, or the scope of a request. */
export function exampleParentOf(owner: string): string | undefined {
  const subject = subjectOf(owner)
  const uid = uids[subject]
  return parents[subject] ?? (uid === undefined ? undefined : parentOf(uid))
}

/** `BatchCreateRoleBindingsRequest` is about a RoleBinding. */
function subjectOf(owner: string): string {
  const name = owner.replace(/^(?:Batch)?[A-Z][a-z]+/, '').replace(/(?:Request|Response)$/, '')
  return uids[name] === undefined ? name.replace(/s$/, '') : name
}

export const TIME = '2025-01-02T03:04:05.000Z'
const DIGEST = 'sha256:4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce'
const KEY_ID = '0b7f93d15ce2486a'
const INVITE = { grp: GROUP, kid: KEY_ID, key: 'x2Vd0Yq8mKJ5sTnB1uHc7wRfLg4ZpEa9oXiC3vMyD6N' }
export const INVITE_CODE = Buffer.from(JSON.stringify(INVITE)).toString('base64')

const SCIM_TOKEN = `cgscim_${'3f'.repeat(32)}`

const overlay = {
  contents: { packages: ['curl'], runtimeRepositories: [], runtimeKeyring: [] },
  environment: { LANG: 'C.UTF-8' },
  annotations: { 'com.example.team': 'build-team' },
}

/**
 * The JSON of whole fields, by `Message.field` or by the proto name alone. A text or an enum without a value here fails the generation of
 * the reference, so that it never shows impossible values.
 */
export const exampleValues: Readonly<Record<string, unknown>> = {
  name: 'build-team',
  description: 'Builds the base images',
  email: 'ada@example.com',
  issuer: 'https://issuer.example.com',
  subject: 'repo:example/app:ref:refs/heads/main',
  company: 'Example',
  digest: DIGEST,
  next_page_token: '',
  total_count: '1',
  skipped: 0,
  update_mask: '*',
  reason: '',
  note: '',
  etag: 'W/"m5f1k0c0"',
  endpoint_url: 'https://berth.example.com/scim/v2',
  group_uid: ORGANIZATION,
  identity_uid: IDENTITY,
  identity_provider_uid: PROVIDER,
  repo_uid: REPO,
  role_uid: viewer.uid,
  capabilities: ['CAP_REPO_LIST', 'CAP_TAG_LIST'],
  bundles: ['application'],
  expire_time: '2026-01-02T03:04:05.000Z',
  expiration_time: '2025-01-16T03:04:05.000Z',

  // Only organizations have limits.
  'Group.resource_limits': {},
  'Group.kind': 'ORG_KIND_CUSTOMER',
  'Group.status': 'ORG_STATUS_READY',
  // Only verified organizations can be looked up.
  'LookupGroupResponse.group': {
    uid: ORGANIZATION,
    name: 'example.com',
    description: '',
    resourceLimits: {},
    verified: true,
    kind: 'ORG_KIND_CUSTOMER',
    status: 'ORG_STATUS_READY',
    createTime: TIME,
    updateTime: TIME,
  },
  // Only users have it.
  'Identity.email': '',
  'Identity.email_unverified': '',
  'ExplainExchangeRequest.audience': '',
  'ClaimMatch.audience': 'https://berth.example.com',
  'ClaimMatch.claims': { repository: 'example/app' },
  'ClaimMatch.claim_patterns': { event_name: 'push|schedule' },
  'IdentityMetadata.name': 'Ada Lovelace',
  given_name: 'Ada',
  family_name: 'Lovelace',
  product: 'images',
  job_title: 'Engineer',
  utm_campaign: 'launch',
  utm_content: 'banner',
  utm_medium: 'mail',
  utm_source: 'newsletter',
  utm_term: 'base images',
  latest_form_submit_url: 'https://www.example.com/contact',
  latest_internal_referring_url: 'https://www.example.com/images',
  // Never stored.
  hubspot_utk: '',
  'RoleBindingIdentity.email': '',
  'RoleBindingRole.name': viewer.name,
  'RoleBindingRole.description': viewer.description,
  default_role: viewer.uid,
  client_id: 'berth',
  client_secret: 'as-the-provider-gave-it',
  additional_scopes: ['email', 'profile'],
  groups_claim: 'groups',
  correlation_rule: 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID',
  'IdentityProvider.callback': 'CALLBACK_OWN',
  sign_in_problem: '',
  redirect_uri: `https://berth.example.com/oauth/callback/${PROVIDER}`,
  credential_state: 'CREDENTIAL_STATE_LIVE',
  'GenerateScimTokenResponse.token': SCIM_TOKEN,
  'RegenerateScimTokenResponse.token': SCIM_TOKEN,
  external_group_id: 'platform-engineers',
  'ExternalGroupRoleMapping.scope': ORGANIZATION,
  names: [uids['ExternalGroupRoleMapping']],
  account: '123456789012',
  project_id: 'example-project',
  project_number: '345678901234',
  service_bindings: { INGESTER: IDENTITY },
  tenant_id: '4e1c7f0a-52d8-4b6e-9f3a-c07d81b2e596',
  client_ids: { catalog: '9b30d6f4-1a7e-4c52-8d0f-65e2a9c4b718' },
  app_installations: { '1024': { installations: [{ installationId: '2048', name: 'example' }] } },
  provider_type: 'ACCOUNT_PROVIDER_TYPE_AMAZON',
  'CheckAccountAssociationResponse.status': 'CHECK_STATUS_READY',
  message: '',
  'GroupInvite.role_uid': ROLE,
  ttl: '1209600s',
  key_id: KEY_ID,
  // Shown only in the response that creates the invite.
  'GroupInvite.code': '',
  'AcceptGroupInviteRequest.code': INVITE_CODE,
  catalog_tier: 'CATALOG_TIER_APPLICATION',
  'Repo.aliases': ['docker.io/library/nginx:latest'],
  active_tags: ['1.27'],
  source: `${ORGANIZATION}/f90b3d6e75a1c284`,
  google: '',
  'AccountAssociation.google': { projectId: 'example-project', projectNumber: '345678901234' },
  amazon: '',
  'AccountAssociation.amazon': { account: '123456789012' },
  azure: '',
  'AccountAssociation.azure': {
    tenantId: '4e1c7f0a-52d8-4b6e-9f3a-c07d81b2e596',
    clientIds: { catalog: '9b30d6f4-1a7e-4c52-8d0f-65e2a9c4b718' },
  },
  apko_overlay: '',
  custom_overlay: overlay,
  content: '# Build team\n\nImages that everything else is built on.\n',
  'Tag.name': '1.27',
  architectures: ['amd64', 'arm64'],
  architecture: 'amd64',
  size: '12582912',
  advisory_id: 'BERTH-2025-0001',
  legacy_advisory_id: 'BERTH-2024-0001',
  author: 'security@example.com',
  artifact_name: 'nginx',
  artifact_type: 'apk',
  artifact_architecture: 'x86_64',
  component_name: 'openssl',
  component_location: '/usr/lib/libssl.so.3',
  component_type: 'apk',
  'Advisory.aliases': ['CVE-2025-12345'],
  reviewer: '',
  review_state: 'REVIEW_STATE_PENDING',
  issue: '',
  detection: {
    nvdapi: { cpeSearched: 'openssl', cpeFound: 'cpe:2.3:a:openssl:openssl:3.4.0:*:*:*:*:*:*:*' },
  },
  severities: [{ type: 'TYPE_CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }],
  response: 'pong',
  'RawToken.token': 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl',
  'RawToken.refresh_token': '',
  'AdvisoryPublication.public': true,
  'AdvisoryPublication.public_through': GROUP,
  'AdvisoryPublication.change_time': '2025-11-03T10:15:00.000Z',
  'SecurityDatabase.apkurl': '{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk',
  'SecurityDatabase.archs': ['x86_64', 'aarch64'],
  'SecurityDatabase.reponame': 'os',
  'SecurityDatabase.urlprefix': 'https://packages.example.com',
  'SecurityDatabase.distroversion': '',
  'Distribution.ecosystem': 'Wolfi',
  'Distribution.namespace': 'wolfi',
  'ImportAdvisoryDocumentsRequest.parent': ORGANIZATION,
  'AdvisoryDocument.name': 'EX-2025-1.json',
  'AdvisoryDocument.format': 'osv',
  'AdvisoryDocument.content':
    'eyJpZCI6IkVYLTIwMjUtMSIsIm1vZGlmaWVkIjoiMjAyNS0xMS0wM1QxMDoxNTowMFoiLCJhZmZlY3RlZCI6W3sicGFja2FnZSI6eyJlY29zeXN0ZW0iOiJucG0iLCJuYW1lIjoiZXhhbXBsZSJ9fV19',
  'ImportedDocument.name': 'EX-2025-1.json',
  'ImportedDocument.format': 'osv',
  'ImportedDocument.accepted': true,
  'ImportedDocument.reason': '',
  'ImportedDocument.line': 0,
  'ImportedDocument.created': 1,
  'ImportedDocument.updated': 0,
  'ImportedDocument.unchanged': 0,
  'ImportedDocument.withdrawn': 0,
  'ImportedDocument.covered': 0,
  'ImportedDocument.scored': 0,
  'ImportedDocument.older': 0,
  'ImportedDocument.events': { detection: 1 },
  'DeleteAdvisoryDocumentsRequest.parent': ORGANIZATION,
  'DeleteAdvisoryDocumentsRequest.format': 'osv',
  'DeleteAdvisoryDocumentsRequest.ids': ['EX-2025-1'],
  'DeleteAdvisoryDocumentsResponse.documents': 1,
  'DeleteAdvisoryDocumentsResponse.withdrawn': 1,
  'GetAdvisoryDocumentsRequest.parent': ORGANIZATION,
  'GetAdvisoryDocumentsRequest.format': '',
  'GetAdvisoryDocumentsRequest.id': '',
  'GetAdvisoryDocumentsRequest.content': false,
  'GetAdvisorySourcesRequest.uid': ADVISORY,
  'GetAdvisorySourcesRequest.format': '',
  'GetAdvisorySourcesRequest.id': '',
  'GetAdvisorySourcesRequest.content': false,
  'AdvisorySource.format': 'osv',
  'AdvisorySource.id': 'EX-2025-1',
  'AdvisorySource.name': 'EX-2025-1.json',
  'UnmappedField.path': 'references[].url',
  'UnmappedField.count': 2,
  'ImmutableTags.patterns': ['v*'],
  'ImmutableTags.exceptions': ['v*-rc*'],
  'RetentionRule.patterns': ['main-*'],
  'RetentionRule.newest': 10,
  'RetentionRun.deleted_tags': 12,
  'RetentionRun.deleted_manifests': 7,
  'RetentionRun.error': '',
  'PreviewRetentionResponse.deleted_tags': 1,
  'PreviewRetentionResponse.deleted_manifests': 0,
  'PreviewRetentionRequest.page_size': 50,
  'PreviewRetentionRequest.page_token': '',
  'RetentionVerdict.tag': 'main-20240101',
  'RetentionVerdict.deleted': true,
  'RetentionVerdict.reason': 'no rule keeps it',
  'PreviewUntaggedManifestsRequest.page_size': 50,
  'PreviewUntaggedManifestsRequest.page_token': '',
  'PreviewUntaggedManifestsResponse.verdicts': [
    { tag: '', digest: DIGEST, deleted: true, reason: 'it is unreferenced', updateTime: TIME },
  ],
  'PreviewUntaggedManifestsResponse.deleted_manifests': 1,
  'PreviewUntaggedManifestsResponse.deleted_tags': 0,
  'PreviewUntaggedManifestsResponse.unreferenced_bytes': '31457280',
  'DeleteUntaggedManifestsResponse.deleted_manifests': 200,
  'DeleteUntaggedManifestsResponse.deleted_tags': 0,
  'DeleteUntaggedManifestsResponse.remaining_manifests': 234,

  'AdvisoryFeed.url': 'https://feeds.example.com/all.zip',
  'AdvisoryFeed.format': 'osv',
  'AdvisoryFeed.interval': '3600s',
  'AdvisoryFeed.state': 'STATE_SUCCEEDED',
  'AdvisoryFeed.last_error': '',
  'AdvisoryFeed.failures': 0,
  'AdvisoryFeed.source_etag': '"33a64df551425fcc55e4d42a148795d9"',
  'ListAdvisoryFeedsRequest.url': '',
  'ImportCounts.documents': 41,
  'ImportCounts.skipped': 1,
  'ImportCounts.rejected': 0,
  'ImportCounts.created': 3,
  'ImportCounts.updated': 1,
  'ImportCounts.unchanged': 52,
  'ImportCounts.withdrawn': 0,
  'ImportCounts.covered': 0,
  'ImportCounts.scored': 4,
  'ImportCounts.older': 0,
  'ImportCounts.rejections': [],
  'ExplainExchangeRequest.identity': IDENTITY,
  'ExplainExchangeRequest.token': 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl',
  'ExplainExchangeRequest.identity_provider': '',
  'ExchangeCondition.name': 'subject',
  'ExchangeCondition.outcome': 'OUTCOME_FAILED',
  'ExchangeCondition.expected': 'pattern repo:acme/*',
  'ExchangeCondition.actual': 'repo:acme/app:ref:refs/heads/main',
  'ExchangeCondition.hint': '* repeats the item before it; for any text write .* instead: repo:acme/.*',
  'WhoAmI.audience': ['https://berth.example.com'],
  'WhoAmI.issuer': 'https://berth.example.com',
  'WhoAmI.subject': PERSON,
  'WhoAmI.capabilities': [],
  'Profile.picture': 'https://example.com/ada.png',
  'Session.identity': PERSON,
  'Session.group': ORGANIZATION,
  'RegistrationRequest.code': '',
  'RegistrationRequest.identity_id': '',
  'DeletionRequest.id': PERSON,
  'GetHeadlessSessionRequest.code': 'hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo',
  actor: IDENTITY,
  method: 'chainguard.platform.iam.v2beta1.GroupsService/CreateGroup',
  resource_uid: GROUP,
  code: 0,
  request_id: '3k9fzq-1a',
  address: '203.0.113.7',
  // Only exchanges have it.
  'AuditEvent.issuer': '',
  'AuditEvent.subject': '',
  count: 1,
}

/**
 * Fields that an example of a create leaves out, also in its response: only the operator may set them, or they need another resource.
 */
export const omittedFields: ReadonlySet<string> = new Set([
  'Group.verified',
  'Group.kind',
  'AccountAssociation.chainguard',
  'IdentityProvider.scim',
  'Repo.catalog_tier',
  'Repo.bundles',
  'Repo.aliases',
  'Repo.active_tags',
  'Repo.sync_config',
  'Repo.custom_overlay',
])
