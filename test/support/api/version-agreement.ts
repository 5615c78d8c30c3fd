import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { CapabilitySchema, name as capabilityName } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { GroupAccountAssociations } from '@berth/contract/gen/chainguard/platform/iam/account_associations_pb.js'
import { GroupInvites } from '@berth/contract/gen/chainguard/platform/iam/group_invites_pb.js'
import { Groups } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { Identities } from '@berth/contract/gen/chainguard/platform/iam/identities_pb.js'
import { IdentityProviders } from '@berth/contract/gen/chainguard/platform/iam/identity_providers_pb.js'
import { RoleBindings } from '@berth/contract/gen/chainguard/platform/iam/role_bindings_pb.js'
import { Roles } from '@berth/contract/gen/chainguard/platform/iam/roles_pb.js'
import { AccountAssociationsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { GroupInvitesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/group_invites_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { IdentitiesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { IdentityProvidersService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { RoleBindingsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RolesService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import {
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  fromJson,
  getOption,
  type JsonObject,
  type JsonValue,
  type Message,
  toJson,
} from '@bufbuild/protobuf'
import { type ApiFixture, managedRole, type Organization } from './api-fixture.ts'
import type { GrpcFailure } from './grpc.ts'
import { call } from './rest.ts'

/**
 * Random writes through version 1 and version 2, over REST and gRPC, and after each of them every read through all four held against
 * the others. What corresponds to what is written down here a second time, from the public tables and in JSON, so that the server's
 * own table does not prove itself.
 */

type Json = Record<string, JsonValue | undefined>

const protocols = ['v1 REST', 'v1 gRPC', 'v2 REST', 'v2 gRPC'] as const
type ProtocolVersion = (typeof protocols)[number]
const isV1 = (face: ProtocolVersion) => face.startsWith('v1')

/** A value of version 1 in the words of version 2, and back. */
interface ValueMapping {
  readonly toV2: (old: JsonValue) => JsonValue
  readonly toV1: (next: JsonValue) => JsonValue
}

/** Fields by their older and newer names. */
type FieldMapping = readonly (readonly [old: string, next: string, words?: ValueMapping])[]

interface ResourceKind {
  readonly name: string
  /** What its items have in lists. */
  readonly fields: FieldMapping
  /** What only REST shows. */
  readonly restOnly?: FieldMapping
  /** What callers write; without what the server sets. */
  readonly written: FieldMapping
  readonly v1: {
    readonly service: DescService
    readonly path: string
    readonly id: string
    readonly body?: string
    /** What its methods are called after, where several resources share a service. */
    readonly resource?: string
  }
  readonly v2: {
    readonly service: DescService
    readonly path: string
    readonly resource: string
    readonly plural: string
  }
  /** What a new one is to be, in the words of version 2; `undefined`: not possible now. */
  readonly randomResource: (world: World) => Json | undefined
  /** Where it is created. */
  readonly parentOf: (world: World) => string
  readonly only?: 'v1 updates' | 'v2 updates'
  /** Default: `iam`. */
  readonly domain?: 'registry'
  /** What an update leaves as it is. */
  readonly unchangedField?: string
  /** What lets version 2 list everything. */
  readonly everything?: JsonObject
}

const renamedKeys = (pairs: Readonly<Record<string, string>>): ValueMapping => {
  const swap = (names: Readonly<Record<string, string>>) => (value: JsonValue) =>
    Object.fromEntries(Object.entries(value as JsonObject).map(([name, one]) => [names[name] ?? name, one]))
  const back = Object.fromEntries(Object.entries(pairs).map(([old, next]) => [next, old]))
  return { toV2: swap(pairs), toV1: swap(back) }
}

const capabilityNames = new Map(
  CapabilitySchema.values.map((one) => [one.name, getOption(one, capabilityName)]),
)
const capabilityByName = new Map([...capabilityNames].map(([wire, name]) => [name, wire]))
const capabilities: ValueMapping = {
  toV2: (names) => (names as string[]).map((name) => capabilityByName.get(name) ?? name),
  toV1: (wires) => (wires as string[]).map((wire) => capabilityNames.get(wire) ?? wire),
}
const tier: ValueMapping = {
  toV2: (old) => `CATALOG_TIER_${old === 'UNKNOWN' ? 'UNSPECIFIED' : String(old)}`,
  toV1: (next) => String(next).replace('CATALOG_TIER_', '').replace('UNSPECIFIED', 'UNKNOWN'),
}
const same = (...names: string[]): FieldMapping => names.map((name) => [name, name])
const times: FieldMapping = [
  ['createdAt', 'createTime'],
  ['updatedAt', 'updateTime'],
]

const jwk = {
  ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }),
  kid: '1',
  alg: 'ES256',
  use: 'sig',
}
const keySet = JSON.stringify({ keys: [jwk] })

const identityWritten: FieldMapping = [
  ...same('name', 'description', 'claimMatch', 'awsIdentity'),
  ['static', 'staticKeys', renamedKeys({ expiration: 'expirationTime' })],
]
const associationWritten = same('name', 'description', 'amazon', 'google', 'azure', 'github', 'chainguard')

const kinds: readonly ResourceKind[] = [
  {
    name: 'groups',
    fields: [['id', 'uid'], ...same('name', 'description', 'resourceLimits', 'verified', 'kind', 'status')],
    restOnly: times,
    written: same('name', 'description'),
    v1: { service: Groups, path: 'groups', id: 'id', body: 'group' },
    v2: { service: GroupsService, path: 'groups', resource: 'group', plural: 'groups' },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => world.named(),
  },
  {
    name: 'identities',
    fields: [['id', 'uid'], ...identityWritten, ...times, ['lastSeen', 'lastSeenTime']],
    written: identityWritten,
    v1: { service: Identities, path: 'identities', id: 'id', body: 'identity' },
    v2: { service: IdentitiesService, path: 'identities', resource: 'identity', plural: 'identities' },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => ({ ...world.named(), ...world.relationship() }),
  },
  {
    name: 'roles',
    fields: [['id', 'uid'], ...same('name', 'description'), ['capabilities', 'capabilities', capabilities]],
    restOnly: times,
    written: [...same('name', 'description'), ['capabilities', 'capabilities', capabilities]],
    v1: { service: Roles, path: 'roles', id: 'id', body: 'role' },
    v2: { service: RolesService, path: 'roles', resource: 'role', plural: 'roles' },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => ({ ...world.named(), capabilities: world.capabilities() }),
  },
  {
    name: 'role bindings',
    fields: [
      ['id', 'uid'],
      ['identity', 'identityUid'],
      ['createdAt', 'createTime'],
    ],
    written: [
      ['identity', 'identityUid'],
      ['role', 'roleUid'],
    ],
    v1: { service: RoleBindings, path: 'rolebindings', id: 'id', body: 'roleBinding' },
    v2: {
      service: RoleBindingsService,
      path: 'roleBindings',
      resource: 'roleBinding',
      plural: 'roleBindings',
    },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => {
      const identity = world.pickExisting('identities')
      const role = world.chance(0.5) ? { uid: managedRole('viewer') } : world.pickExisting('roles')
      if (identity === undefined || role === undefined) return undefined
      return { identityUid: identity['uid'], roleUid: role['uid'] }
    },
  },
  {
    name: 'identity providers',
    fields: [['id', 'uid'], ...same('name', 'description', 'defaultRole', 'oidc', 'scim')],
    restOnly: times,
    written: same('name', 'description', 'defaultRole', 'oidc'),
    v1: { service: IdentityProviders, path: 'identityProviders', id: 'id', body: 'identityProvider' },
    v2: {
      service: IdentityProvidersService,
      path: 'identityProviders',
      resource: 'identityProvider',
      plural: 'identityProviders',
    },
    parentOf: (world) => world.root,
    randomResource: (world) => ({
      ...world.named(),
      defaultRole: managedRole('viewer'),
      oidc: {
        issuer: `https://login${world.nextInt(3)}.example.com`,
        clientId: 'berth',
        clientSecret: 'as it was given',
        additionalScopes: world.chance(0.5) ? ['email'] : [],
        groupsClaim: world.chance(0.5) ? 'groups' : '',
      },
    }),
  },
  {
    name: 'account associations',
    fields: [['group', 'uid'], ...associationWritten],
    restOnly: [['id', 'uid'], ...times],
    written: associationWritten,
    v1: { service: GroupAccountAssociations, path: 'account_associations', id: 'group' },
    v2: {
      service: AccountAssociationsService,
      path: 'accountAssociations',
      resource: 'accountAssociation',
      plural: 'accountAssociations',
    },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => ({
      ...world.named(),
      ...(world.chance(0.6) && { amazon: { account: `${world.nextInt(9)}`.repeat(12) } }),
      ...(world.chance(0.4) && { google: { projectId: 'example-project', projectNumber: '345678901234' } }),
      ...(world.chance(0.4) && {
        github: { appInstallations: { '1024': { installations: [{ installationId: '2048', name: 'x' }] } } },
      }),
      ...(world.chance(0.3) && {
        azure: {
          tenantId: '4e1c7f0a-52d8-4b6e-9f3a-c07d81b2e596',
          clientIds: { catalog: '9b30d6f4-1a7e-4c52-8d0f-65e2a9c4b718' },
        },
      }),
    }),
  },
  {
    name: 'invites',
    fields: [
      ['id', 'uid'],
      ['expiration', 'expirationTime'],
      ...same('keyId', 'email', 'singleUse'),
      ['createdAt', 'createTime'],
    ],
    written: [['role', 'roleUid'], ...same('email', 'singleUse', 'ttl')],
    v1: { service: GroupInvites, path: 'group_invites', id: 'id' },
    v2: {
      service: GroupInvitesService,
      path: 'groupInvites',
      resource: 'groupInvite',
      plural: 'groupInvites',
    },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => ({
      roleUid: (world.pickExisting('roles')?.['uid'] as string | undefined) ?? managedRole('viewer'),
      ttl: `${3600 + world.nextInt(10)}s`,
      ...(world.chance(0.5) && { email: 'ada@example.com' }),
      ...(world.chance(0.5) && { singleUse: true }),
    }),
    only: 'v2 updates',
  },
  {
    name: 'repos',
    domain: 'registry',
    fields: [
      ['id', 'uid'],
      ...same('name', 'description', 'bundles', 'aliases', 'activeTags', 'createTime'),
      ['catalogTier', 'catalogTier', tier],
    ],
    restOnly: times,
    written: same('name', 'description'),
    v1: { service: Registry, path: 'repos', id: 'id', body: 'repo', resource: 'Repo' },
    v2: { service: ReposService, path: 'repos', resource: 'repo', plural: 'repos' },
    parentOf: (world) => world.pickExisting('groups')?.['uid'] as string,
    randomResource: (world) => world.named(),
  },
  {
    name: 'tags',
    domain: 'registry',
    fields: [
      ['id', 'uid'],
      ...same('name', 'digest', 'deprecated', 'bundles'),
      ['lastUpdated', 'updateTime'],
    ],
    restOnly: [['updatedAt', 'updateTime']],
    written: same('name', 'digest', 'deprecated', 'bundles'),
    v1: { service: Registry, path: 'tags', id: 'id', body: 'tag', resource: 'Tag' },
    v2: { service: TagsService, path: 'tags', resource: 'tag', plural: 'tags' },
    parentOf: (world) => world.pickExisting('repos')?.['uid'] as string,
    randomResource: (world) => ({
      // Few, so that some are there already; some of the forms that lists of version 2 leave out.
      name: `tag-${world.nextInt(4)}${world.pick(['', '-20260101', '-r1'])}`,
      ...(world.chance(0.8) && { digest: `sha256:${`${world.nextInt(3)}`.repeat(64)}` }),
      ...(world.chance(0.3) && { deprecated: true }),
      ...(world.chance(0.3) && { bundles: ['fips'] }),
    }),
    only: 'v1 updates',
    unchangedField: 'name',
    everything: { includeReferrers: true, includeDates: true, includeEpochs: true },
  },
]

/** The state that every face shows, and where chance comes from. */
class World {
  readonly root: string
  /** In the words of version 2, over REST. */
  readonly known = new Map<string, Json[]>()
  #state: number
  #names = 0

  constructor(root: string, seed: number) {
    this.root = root
    this.#state = seed
  }

  /** A whole number from 0 up to, and without, `end` (mulberry32). */
  nextInt(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * end)
  }

  chance(of: number): boolean {
    return this.nextInt(1000) < of * 1000
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.nextInt(items.length)]
  }

  pickExisting(kind: string): Json | undefined {
    return this.pick(this.known.get(kind) ?? [])
  }

  /** Sometimes a name that no resource may have. */
  named(): Json {
    this.#names += 1
    const name = this.chance(0.05) ? 'NOT A NAME!' : `thing ${this.#names}`
    return { name, ...(this.chance(0.6) && { description: `What ${this.#names} is for` }) }
  }

  capabilities(): string[] {
    const pickExisting = ['groups.list', 'groups.create', 'identity.list', 'roles.list'].filter(() =>
      this.chance(0.5),
    )
    return pickExisting.map((name) => capabilityByName.get(name)!)
  }

  relationship(): Json {
    const subject = `robot ${this.nextInt(1000)}`
    switch (this.nextInt(3)) {
      case 0:
        return {
          staticKeys: {
            issuer: 'https://keys.example',
            subject,
            issuerKeys: keySet,
            audiences: this.chance(0.5) ? ['x'] : [],
          },
        }
      case 1:
        return {
          awsIdentity: {
            awsAccount: '123456789012',
            arnPattern: 'arn:aws:iam::123456789012:role/.*',
            userIdPattern: '.*',
          },
        }
      default:
        return {
          claimMatch: {
            issuer: 'https://issuer.example',
            ...(this.chance(0.5) ? { subject } : { subjectPattern: 'robot .*' }),
            ...(this.chance(0.3) && { audience: 'https://berth.example.com' }),
            claims: this.chance(0.3) ? { team: 'x' } : {},
            claimPatterns: this.chance(0.3) ? { event: 'push|pull' } : {},
          },
        }
    }
  }
}

/** Through which face, and whose token. */
interface Session {
  readonly cast: ApiFixture
  readonly token: string
}

/** `steps` writes from a seed. Fails with the seed, and with what had been written. */
export async function compareVersions(cast: ApiFixture, seed: number, steps: number): Promise<void> {
  const organization: Organization = await cast.organization()
  const way = { cast, token: organization.owner.api.token }
  const world = new World(organization.uid, seed)
  const done: string[] = []
  try {
    await assertAgreement(way, world)
    for (let step = 0; step < steps; step++) {
      const what = await writeRandom(way, world)
      done.push(what)
      await assertAgreement(way, world)
    }
  } catch (error) {
    const shown = done.slice(-10).join('\n  ')
    throw new Error(`seed ${seed}, after\n  ${shown}\n${(error as Error).message}`, { cause: error })
  }
  assert.ok(
    done.filter((text) => text.endsWith(' 0')).length > steps / 3,
    `too little works:\n${done.join('\n')}`,
  )
}

/** One random write through a random face; what it was, and its code. */
async function writeRandom(way: Session, world: World): Promise<string> {
  const kind = kinds[world.nextInt(kinds.length)]!
  const face = protocols[world.nextInt(protocols.length)]!
  const action = ['create', 'create', 'update', 'delete'][world.nextInt(4)]!
  const existing = world.pickExisting(kind.name)
  const uid = existing?.['uid'] as string | undefined
  if (action === 'create' || uid === undefined) {
    const made = kind.randomResource(world)
    if (made === undefined) return `nothing to make ${kind.name} of`
    const { code, body: answer } = await send(
      way,
      face,
      kind,
      'create',
      kind.parentOf(world) ?? world.root,
      made,
    )
    if (code === 0) assertResponseMatches(face, kind, made, answer)
    return `${face} creates in ${kind.name} ${JSON.stringify(made)}: ${code}`
  }
  // What the caller's own rights come of stays.
  const isNeeded =
    uid === world.root ||
    String(existing?.['name']).startsWith('member-') ||
    existing?.['roleUid'] === managedRole('owner')
  if (isNeeded) return `leaves ${kind.name} ${uid}`
  if (action === 'delete') {
    const { code } = await send(way, face, kind, 'delete', uid, {})
    return `${face} deletes in ${kind.name} ${uid}: ${code}`
  }
  const made = kind.randomResource(world)
  if (made === undefined) return `nothing to make ${kind.name} of`
  if (kind.unchangedField !== undefined) made[kind.unchangedField] = existing?.[kind.unchangedField]
  const by = kind.only === undefined ? face : (face.replace(/^v./, kind.only.slice(0, 2)) as ProtocolVersion)
  const { code, body: answer } = await send(way, by, kind, 'update', uid, made)
  if (code === 0) assertResponseMatches(by, kind, made, answer)
  return `${by} updates in ${kind.name} ${uid} ${JSON.stringify(made)}: ${code}`
}

/** The answer has what was sent; what was left out is at its zero value. */
function assertResponseMatches(face: ProtocolVersion, kind: ResourceKind, made: Json, answer: Json): void {
  for (const [old, next, words] of kind.written) {
    if (next === 'ttl' || next === 'oidc' || next === 'roleUid' || (kind.name === 'invites' && isV1(face)))
      continue
    const shown = isV1(face) ? toV2Value(answer[old], words) : answer[next]
    const asked = made[next]
    if (asked === undefined) {
      const zero = shown === undefined || shown === null || shown === '' || shown === false || isEmpty(shown)
      assert.ok(zero, `${face} ${kind.name}.${next} was left out, and is ${JSON.stringify(shown)}`)
    } else if (typeof asked !== 'object') assert.deepEqual(shown, asked, `${face} ${kind.name}.${next}`)
    else if (!Array.isArray(asked))
      assert.partialDeepStrictEqual(shown, asked, `${face} ${kind.name}.${next}`)
  }
}

const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

function toV2Value(value: JsonValue | undefined, words: ValueMapping | undefined): JsonValue | undefined {
  return value === undefined || value === null || words === undefined ? value : words.toV2(value)
}

interface Outcome {
  readonly code: number
  readonly body: Json
}

type Action = 'create' | 'update' | 'delete'

async function send(
  way: Session,
  face: ProtocolVersion,
  kind: ResourceKind,
  action: Action,
  uid: string,
  made: Json,
): Promise<Outcome> {
  return isV1(face) ? sendV1(way, face, kind, action, uid, made) : sendV2(way, face, kind, action, uid, made)
}

/** What was left out stays left out: a PUT resets it. */
async function sendV1(
  way: Session,
  face: ProtocolVersion,
  kind: ResourceKind,
  action: Action,
  uid: string,
  made: Json,
): Promise<Outcome> {
  const { service, path, id, body: bodyField, resource = '' } = kind.v1
  const body = toV1Body(kind, made)
  if (face === 'v1 REST') {
    const verb = { create: 'POST', update: 'PUT', delete: 'DELETE' }[action]
    return rest(
      way,
      verb,
      `/${kind.domain ?? 'iam'}/v1/${path}/${uid}`,
      action === 'delete' ? undefined : body,
    )
  }
  const method = methodOf(service, action + resource)
  const parent = method.input.fields[0]!.jsonName
  const create = bodyField === undefined ? { [parent]: uid, ...body } : { [parent]: uid, [bodyField]: body }
  const request = { create, update: { [id]: uid, ...body }, delete: { [id]: uid } }[action]
  return grpc(way, method, request as JsonObject)
}

async function sendV2(
  way: Session,
  face: ProtocolVersion,
  kind: ResourceKind,
  action: Action,
  uid: string,
  made: Json,
): Promise<Outcome> {
  const { service, path, resource } = kind.v2
  // A whole resource, as a PUT of version 1 has it.
  const mask = kind.written.map(([, next]) => next)
  if (face === 'v2 REST') {
    const verb = { create: 'POST', update: 'PATCH', delete: 'DELETE' }[action]
    const query = action === 'update' ? `?updateMask=${mask.join(',')}` : ''
    return rest(
      way,
      verb,
      `/${kind.domain ?? 'iam'}/v2beta1/${path}/${uid}${query}`,
      action === 'delete' ? undefined : made,
    )
  }
  const method = methodOf(service, `${action}${resource[0]!.toUpperCase()}${resource.slice(1)}`)
  const request = {
    create: { parent: uid, [resource]: made },
    update: { [resource]: { uid, ...made }, updateMask: mask.join(',') },
    delete: { uid },
  }[action]
  return grpc(way, method, request as JsonObject)
}

function toV1Body(kind: ResourceKind, made: Json): Json {
  const body: Json = {}
  for (const [old, next, words] of kind.written) {
    const value = made[next]
    if (value !== undefined) body[old] = words === undefined ? value : words.toV1(value)
  }
  return body
}

async function rest({ cast, token }: Session, verb: string, path: string, body?: Json): Promise<Outcome> {
  const reply = await call(verb, `${cast.berth.url}${path}`, { token, ...(body && { body }) })
  return reply.status === 200 ? { code: 0, body: reply.body ?? {} } : { code: reply.body.code, body: {} }
}

async function grpc(
  { cast, token }: Session,
  method: DescMethodUnary,
  request: JsonObject,
): Promise<Outcome> {
  try {
    const reply = await cast.grpc.call(method, fromJson(method.input, request) as never, { token })
    return { code: 0, body: jsonOf(method.output, reply) }
  } catch (error) {
    const { code } = error as GrpcFailure
    if (typeof code !== 'number') throw error
    return { code, body: {} }
  }
}

function jsonOf(desc: DescMessage, message: Message): Json {
  return toJson(desc, message, { alwaysEmitImplicit: true }) as Json
}

function methodOf(service: DescService, localName: string): DescMethodUnary {
  const method = service.methods.find((one) => one.localName === localName)
  assert.ok(method?.methodKind === 'unary', `${service.typeName} has no ${localName}`)
  return method as DescMethodUnary
}

/** Every list through every face, and a single read of one of each kind. */
async function assertAgreement(way: Session, world: World): Promise<void> {
  const shown = new Map<string, Record<ProtocolVersion, Json[]>>()
  await Promise.all(kinds.map(async (kind) => shown.set(kind.name, await listsOf(way, world, kind))))
  for (const kind of kinds) {
    const lists = shown.get(kind.name)!
    const expected = lists['v2 REST']
    world.known.set(kind.name, expected)
    assert.deepEqual(lists['v2 gRPC'].map(plain), expected.map(plain), `v2 ${kind.name}: gRPC and REST`)
    for (const face of ['v1 REST', 'v1 gRPC'] as const) {
      const table = face === 'v1 REST' ? [...kind.fields, ...(kind.restOnly ?? [])] : kind.fields
      const translated = lists[face].map((item) => plain(translateToV2(table, item)))
      const picked = expected.map((item) => plain(pickFields(table, item)))
      assert.deepEqual(translated, picked, `${face} ${kind.name}`)
    }
    // No member that only one of the two knows, but for those of REST alone.
    const restOnly = new Set((kind.restOnly ?? []).map(([old]) => old))
    const sameKeys = (items: Json[]) => items.map((item) => without(plain(item) as Json, restOnly))
    const [overRest, overGrpc] = [sameKeys(lists['v1 REST']), sameKeys(lists['v1 gRPC'])]
    assert.deepEqual(overRest.map(deepPlain), overGrpc.map(deepPlain), `v1 ${kind.name}: REST and gRPC`)
  }
  assertBindingsAgree(shown)
  for (const kind of kinds) {
    const one = world.pickExisting(kind.name)
    if (one !== undefined) await assertSingleReads(way, kind, one)
  }
}

function without(item: Json, names: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !names.has(name)))
}

/** Version 1 shows whole groups and roles in its bindings: those that its other lists show. */
function assertBindingsAgree(shown: ReadonlyMap<string, Record<ProtocolVersion, Json[]>>): void {
  const byId = (kind: string) => new Map(shown.get(kind)!['v1 REST'].map((item) => [item['id'], item]))
  const [groups, roles] = [byId('groups'), byId('roles')]
  const newer = new Map(shown.get('role bindings')!['v2 REST'].map((item) => [item['uid'], item]))
  for (const item of shown.get('role bindings')!['v1 REST']) {
    const { group, role, email, claimMatchIssuer, claimMatchSubject } = item as Record<string, Json>
    const next = newer.get(item['id']) as Record<string, Json>
    assert.deepEqual([group?.['id'], role?.['id']], [next['group']?.['uid'], next['role']?.['uid']])
    assert.deepEqual(group, groups.get(group?.['id']))
    if (roles.has(role?.['id'])) assert.deepEqual(role, roles.get(role?.['id']))
    else
      assert.ok(
        (role?.['capabilities'] as string[] | undefined)?.length,
        'a built-in role has its capabilities',
      )
    const { identity } = next
    assert.deepEqual(
      [email, claimMatchIssuer, claimMatchSubject],
      [identity?.['email'], identity?.['issuer'], identity?.['subject']],
    )
  }
  const older = shown.get('invites')!['v1 REST']
  for (const [at, item] of shown.get('invites')!['v2 REST'].entries()) {
    const [role, old] = [item['role'] as Json | undefined, older[at]!['role'] as Json | null]
    assert.equal(old?.['id'], role?.['uid'])
    assert.deepEqual(old?.['capabilities'], role && capabilities.toV1(role['capabilities']!))
  }
}

async function listsOf(
  way: Session,
  world: World,
  kind: ResourceKind,
): Promise<Record<ProtocolVersion, Json[]>> {
  const { v1: old, v2: next } = kind
  const filter = { descendantsOf: world.root }
  const oldList = `list${old.resource === undefined ? '' : `${old.resource}s`}`
  const all = Object.keys(kind.everything ?? {}).map((name) => `${name}=true&`)
  // The organization itself is not below itself.
  const takesFilter = methodOf(old.service, oldList).input.fields.some(({ name }) => name === 'uidp')
  const withFilter = takesFilter && kind.name !== 'groups'
  const query = withFilter ? `?uidp.descendants_of=${world.root}` : ''
  const newQuery = withFilter ? `uidp.descendants_of=${world.root}&` : ''
  const list = `list${next.plural[0]!.toUpperCase()}${next.plural.slice(1)}`
  const [v1Rest, v1Grpc, v2Rest, v2Grpc] = await Promise.all([
    rest(way, 'GET', `/${kind.domain ?? 'iam'}/v1/${old.path}${query}`),
    grpc(way, methodOf(old.service, oldList), withFilter ? { uidp: filter } : {}),
    rest(
      way,
      'GET',
      `/${kind.domain ?? 'iam'}/v2beta1/${next.path}?${all.join('')}${newQuery}order_by=uid&page_size=200`,
    ),
    grpc(way, methodOf(next.service, list), {
      ...kind.everything,
      ...(withFilter && { uidp: filter }),
      orderBy: 'uid',
      pageSize: 200,
    }),
  ])
  const items = ({ code, body: answer }: Outcome, name: string) => {
    assert.equal(code, 0, `${kind.name} ${name}`)
    return answer[name] as unknown as Json[]
  }
  return {
    'v1 REST': items(v1Rest, 'items'),
    'v1 gRPC': items(v1Grpc, 'items'),
    'v2 REST': items(v2Rest, next.plural),
    'v2 gRPC': items(v2Grpc, next.plural),
  }
}

/** A list with the identifier is what version 1 has for a Get. */
async function assertSingleReads(way: Session, kind: ResourceKind, one: Json): Promise<void> {
  const { v1: old, v2: next } = kind
  const uid = one['uid'] as string
  const get = `get${next.resource[0]!.toUpperCase()}${next.resource.slice(1)}`
  const [v1Rest, v1Grpc, v2Rest, v2Grpc] = await Promise.all([
    rest(way, 'GET', `/${kind.domain ?? 'iam'}/v1/${old.path}?${old.id}=${uid}`),
    grpc(way, methodOf(old.service, `list${old.resource === undefined ? '' : `${old.resource}s`}`), {
      [old.id]: uid,
    }),
    rest(way, 'GET', `/${kind.domain ?? 'iam'}/v2beta1/${next.path}/${uid}`),
    grpc(way, methodOf(next.service, get), { uid }),
  ])
  // Only a Get looks up what has become of a token for provisioning.
  const listed = (item: Json) => plain(without(item, new Set(['scim'])))
  assert.deepEqual(listed(v2Rest.body), listed(one), `v2 ${get}`)
  assert.deepEqual(plain(v2Grpc.body), plain(v2Rest.body), `v2 ${get} over gRPC`)
  for (const { body: answer } of [v1Rest, v1Grpc]) {
    const items = answer['items'] as unknown as Json[]
    assert.equal(items.length, 1, `v1 ${kind.name} by identifier`)
    assert.deepEqual(plain(translateToV2(kind.fields, items[0]!)), plain(pickFields(kind.fields, one)))
  }
}

function translateToV2(table: FieldMapping, item: Json): Json {
  return Object.fromEntries(table.map(([old, next, words]) => [next, toV2Value(item[old], words)]))
}

function pickFields(table: FieldMapping, item: Json): Json {
  return Object.fromEntries(table.map(([, next]) => [next, item[next]]))
}

/** Without what is unset, and with times as numbers: writers differ in their digits. */
function plain(value: JsonValue | Json | undefined): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT.*Z$/.test(value)) return Date.parse(value)
  if (typeof value !== 'object' || value === null) return value
  const set = Object.entries(value).filter(([, one]) => one !== undefined && one !== null)
  return Object.fromEntries(set.map(([name, one]) => [name, plain(one)]))
}

/** Also without the times that only REST shows of what is inside. */
function deepPlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepPlain)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, one]) => {
    const inside =
      name === 'group' || name === 'role' ? without(one as Json, new Set(['createdAt', 'updatedAt'])) : one
    return [name, deepPlain(typeof one === 'object' ? inside : one)]
  })
  return Object.fromEntries(entries)
}
