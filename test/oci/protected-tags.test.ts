import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capabilitiesIn, capabilityName, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { RepoPoliciesService } from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { Groups } from '@berth/contract/gen/chainguard/platform/iam/groups_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { managedRoleByName, managedRoles } from '@berth/server/iam/managed-roles.ts'
import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf'
import {
  assertError,
  claimMatch,
  managedRole,
  newName,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import type { GrpcFailure } from '../support/api/grpc.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { capabilitiesJson } from '../support/api/tenant.ts'
import { eventually } from '../support/eventually.ts'
import { assertGolden } from '../support/golden.ts'
import {
  assertOciError,
  createRegistryFixture,
  type OciReply,
  pushImage,
  putManifest,
  type TestImage,
  testImage,
} from '../support/registry/registry.ts'

const POLICIES = 'repo_policies.update'

const capabilitiesOf = (role: string) =>
  capabilitiesIn(managedRoleByName.get(role)?.capabilities ?? capabilitySetOf([])).map(
    (capability) => capabilityName(capability) ?? '',
  )

/** Roles as columns of the table: managed ones by name, custom ones with their capabilities. */
const columns: readonly { readonly name: string; readonly capabilities?: readonly string[] }[] = [
  { name: 'owner' },
  { name: 'editor' },
  { name: 'viewer' },
  { name: 'limited_owner' },
  { name: 'registry.pull' },
  { name: 'registry.push' },
  { name: 'registry.pull_token_creator' },
  { name: `custom: ${POLICIES}`, capabilities: [POLICIES] },
  {
    name: 'custom: registry.push and groups.update',
    capabilities: [...capabilitiesOf('registry.push'), 'groups.update', 'groups.delete'],
  },
  {
    name: `custom: registry.push and ${POLICIES}`,
    capabilities: [...capabilitiesOf('registry.push'), POLICIES],
  },
]

/** Columns that a further database has: who may change a policy, who may not but pushes, and who has one more capability. */
const sampled: ReadonlySet<string> = new Set([
  'owner',
  'registry.push',
  'custom: registry.push and groups.update',
])
/** Results by attempt and role, one from each database. */
const seen = new Map<string, Result[]>()

/** Results of one attempt, as the table shows them. */
const legend = {
  '+': 'allowed',
  '.': 'denied: the role lacks a capability (PERMISSION_DENIED, 403 DENIED)',
  i: 'denied: the tag is immutable for every caller (FAILED_PRECONDITION TAG_IMMUTABLE, 403 DENIED)',
  e: 'denied: not empty (FAILED_PRECONDITION RESOURCE_NOT_EMPTY)',
  b: 'denied: a manifest needs the blob (409 DENIED)',
  u: 'not mounted: the client has to upload the blob (202)',
} as const
type Result = keyof typeof legend

/** A repo in a folder of its own, with a policy that protects its tag `v1`, and another image without a tag. */
interface World {
  /** The organization. */
  readonly root: string
  readonly folder: string
  readonly folderName: string
  readonly repo: string
  /** Path of the repo in the registry. */
  readonly path: string
  readonly tag: string
  readonly image: TestImage
  readonly other: TestImage
}

onEveryDatabase('registry: protected tags', (cast, { isFirst }) => {
  type Registry1 = Awaited<ReturnType<typeof createRegistryFixture>>
  type Member = Awaited<ReturnType<Registry1['member']>>

  const policy = { immutableTags: { patterns: ['v*'] } }
  const policyPath = ({ repo }: World) => `registry/repos/${repo}/policy`

  const made = async ({ organization, owner, root }: Registry1): Promise<World> => {
    const { api } = organization.owner
    const folderName = newName('folder')
    const { uid: folder } = await api.create(`iam/groups/${root}`, { name: folderName })
    const path = `${root}/${folderName}/app`
    const image = await pushImage(owner, path, testImage(), 'v1')
    const other = await pushImage(owner, path)
    const [{ uid: repo }] = (await api.get('registry/repos', { 'uidp.descendants_of': folder })).body.repos
    const [{ uid: tag }] = (await api.get('registry/tags', { 'uidp.descendants_of': folder })).body.tags
    const world = { root, folder, folderName, repo, path, tag, image, other }
    assert.equal((await api.patch(policyPath(world), policy)).status, 200)
    return world
  }

  const memberOf = async (registry: Registry1, { name, capabilities }: (typeof columns)[number]) => {
    if (capabilities === undefined) return registry.member(name)
    const { api } = registry.organization.owner
    const role = { name: newName('custom'), capabilities: capabilitiesJson(...capabilities) }
    return registry.member((await api.create(`iam/roles/${registry.root}`, role)).uid)
  }

  /** How the API and the registry answer, in the signs of the table. */
  const resultOf = (code: number, message: string): Result => {
    if (code === 0) return '+'
    if (code === 7) return '.'
    if (code === 9 && /is immutable/.test(message)) return 'i'
    if (code === 9 && /still contains/.test(message)) return 'e'
    throw new Error(`unexpected ${code}: ${message}`)
  }
  const ofRest = ({ status, body, text }: RestReply): Result =>
    resultOf(status === 200 ? 0 : (body?.code ?? status), text)
  const ofOci = ({ status, codes, bytes }: OciReply): Result => {
    if (status === 202 && codes.length === 0) return '+'
    if (status === 201 || status === 200) return '+'
    assert.deepEqual(codes, ['DENIED'], `${status} ${bytes}`)
    if (status === 409) return 'b'
    assert.equal(status, 403, `${bytes}`)
    return /is immutable/.test(bytes.toString()) ? 'i' : '.'
  }

  type Attempt = (world: World, member: Member) => Promise<Result>
  const rest =
    (ask: (world: World) => readonly [method: string, path: string, body?: object]): Attempt =>
    async (world, { api }) => {
      const [method, path, body] = ask(world)
      const url = `${cast().berth.url}/${path}`
      return ofRest(await call(method, url, { token: api.token, ...(body && { body }) }))
    }
  const grpc =
    <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: (world: World) => MessageInitShape<I>,
    ): Attempt =>
    async (world, { api }) => {
      try {
        await cast().grpc.call(method, request(world), { token: api.token })
        return '+'
      } catch (error) {
        const { code, message } = error as GrpcFailure
        return resultOf(code, message)
      }
    }
  const oci =
    (ask: (world: World, member: Member) => Promise<OciReply>): Attempt =>
    async (world, member) =>
      ofOci(await ask(world, member))

  interface Operation {
    readonly name: string
    /** What the owner does first. */
    readonly prepare?: (world: World, registry: Registry1) => Promise<void>
    /** The same operation through each protocol that has it. */
    readonly through: readonly Attempt[]
    /** What it changes if it is allowed; undefined: a protected tag, its repo or the policy. */
    readonly changes?: 'nothing' | 'nothing protected'
  }

  const withoutTags = async (world: World, { organization }: Registry1) => {
    const { api } = organization.owner
    await api.patch(policyPath(world), { immutableTags: {} }, 'immutable_tags')
    assert.equal((await api.delete(`registry/tags/${world.tag}`)).status, 200)
    assert.equal((await api.patch(policyPath(world), policy)).status, 200)
  }
  const withoutPolicy = async (world: World, registry: Registry1) => {
    await withoutTags(world, registry)
    const { api } = registry.organization.owner
    assert.equal((await api.patch(policyPath(world), { immutableTags: {} }, 'immutable_tags')).status, 200)
  }
  const moved = ({ other }: World) => ({ name: 'v1', digest: other.digest })
  const { updateRepo, deleteRepo } = ReposService.method
  const { createTag, deleteTag } = TagsService.method
  const deletions = [
    rest(({ repo }) => ['DELETE', `registry/v2beta1/repos/${repo}`]),
    rest(({ repo }) => ['DELETE', `registry/v1/repos/${repo}`]),
    grpc(deleteRepo, ({ repo: uid }) => ({ uid })),
    grpc(Registry.method.deleteRepo, ({ repo: id }) => ({ id })),
  ]
  const setPolicy = (patch: object, paths: readonly string[]): readonly Attempt[] => [
    rest((world) => [
      'PATCH',
      `${policyPath(world).replace('/', '/v2beta1/')}?updateMask=${paths.join()}`,
      patch,
    ]),
    grpc(RepoPoliciesService.method.updateRepoPolicy, ({ repo: uid }) => ({
      repoPolicy: { uid, ...patch },
      updateMask: { paths: [...paths] },
    })),
  ]

  const operations: readonly Operation[] = [
    {
      name: 'overwrite v1',
      through: [
        oci(({ path, other }, member) => putManifest(member, path, 'v1', other)),
        oci(({ path, other }, member) => putManifest(member, path, `${other.digest}?tag=v1`, other)),
        rest((world) => ['POST', `registry/v2beta1/tags/${world.repo}`, moved(world)]),
        rest((world) => ['POST', `registry/v1/tags/${world.repo}`, moved(world)]),
        grpc(createTag, (world) => ({ parent: world.repo, tag: moved(world) })),
        grpc(Registry.method.createTag, (world) => ({ repoId: world.repo, tag: moved(world) })),
      ],
    },
    {
      name: 'overwrite v1, or empty it, by UpdateTag of version 1',
      through: [
        rest((world) => ['PUT', `registry/v1/tags/${world.tag}`, moved(world)]),
        rest((world) => ['PUT', `registry/v1/tags/${world.tag}`, { name: 'v1', digest: '' }]),
        grpc(Registry.method.updateTag, (world) => ({ id: world.tag, ...moved(world) })),
      ],
    },
    {
      name: 'push v1 again with its own digest',
      through: [oci(({ path, image }, member) => putManifest(member, path, 'v1', image))],
      changes: 'nothing',
    },
    {
      name: 'push a new tag v2',
      through: [
        oci(({ path, other }, member) => putManifest(member, path, 'v2', other)),
        rest(({ repo, other }) => [
          'POST',
          `registry/v2beta1/tags/${repo}`,
          { name: 'v3', digest: other.digest },
        ]),
      ],
      changes: 'nothing protected',
    },
    {
      name: 'delete v1',
      through: [
        oci(({ path }, member) => member.request('DELETE', `${path}/manifests/v1`)),
        rest(({ tag }) => ['DELETE', `registry/v2beta1/tags/${tag}`]),
        rest(({ tag }) => ['DELETE', `registry/v1/tags/${tag}`]),
        grpc(deleteTag, ({ tag: uid }) => ({ uid })),
        grpc(Registry.method.deleteTag, ({ tag: id }) => ({ id })),
      ],
    },
    {
      name: 'delete the manifest of v1',
      through: [
        oci(({ path, image }, member) => member.request('DELETE', `${path}/manifests/${image.digest}`)),
      ],
    },
    {
      name: 'delete a blob of v1',
      through: [
        oci(({ path, image }, member) =>
          member.request('DELETE', `${path}/blobs/${JSON.parse(image.manifest.toString()).config.digest}`),
        ),
      ],
    },
    {
      name: 'delete a tag that the policy does not protect',
      prepare: async ({ path, other }, { owner }) => {
        assert.equal((await putManifest(owner, path, 'latest', other)).status, 201)
      },
      through: [oci(({ path }, member) => member.request('DELETE', `${path}/manifests/latest`))],
      changes: 'nothing protected',
    },
    { name: 'delete the repo: v1 is its only tag', through: deletions },
    {
      name: 'delete the repo: it has an unprotected tag too',
      prepare: async ({ path, other }, { owner }) => {
        assert.equal((await putManifest(owner, path, 'latest', other)).status, 201)
      },
      through: deletions,
    },
    { name: 'delete the repo: it has the policy and no tags', prepare: withoutTags, through: deletions },
    {
      name: 'delete a repo that has no policy and no tags',
      prepare: withoutPolicy,
      through: deletions,
      changes: 'nothing protected',
    },
    {
      name: 'rename the repo',
      through: [
        rest(({ repo }) => ['PATCH', `registry/v2beta1/repos/${repo}`, { name: newName('other') }]),
        rest(({ repo }) => ['PUT', `registry/v1/repos/${repo}`, { name: newName('other') }]),
        grpc(updateRepo, ({ repo: uid }) => ({ repo: { uid, name: newName('other') } })),
        grpc(Registry.method.updateRepo, ({ repo: id }) => ({ id, name: newName('other') })),
      ],
    },
    {
      name: 'rename a repo that has no policy',
      prepare: withoutPolicy,
      through: [rest(({ repo }) => ['PATCH', `registry/v2beta1/repos/${repo}`, { name: newName('other') }])],
      changes: 'nothing protected',
    },
    {
      name: 'change the description of the repo',
      through: [rest(({ repo }) => ['PATCH', `registry/v2beta1/repos/${repo}`, { description: 'Changed' }])],
      changes: 'nothing protected',
    },
    {
      name: 'make the repo a copy of another one, or change its active tags',
      through: [
        rest(({ repo }) => [
          'PATCH',
          `registry/v2beta1/repos/${repo}?updateMask=syncConfig.source`,
          { syncConfig: { source: repo } },
        ]),
        rest(({ repo }) => ['PATCH', `registry/v2beta1/repos/${repo}`, { activeTags: ['v2'] }]),
      ],
    },
    {
      name: 'rename the folder above the repo',
      through: [
        rest(({ folder }) => ['PATCH', `iam/v2beta1/groups/${folder}`, { name: newName('other') }]),
        rest(({ folder }) => ['PUT', `iam/v1/groups/${folder}`, { name: newName('other') }]),
        grpc(GroupsService.method.updateGroup, ({ folder: uid }) => ({
          group: { uid, name: newName('other') },
        })),
        grpc(Groups.method.update, ({ folder: id }) => ({ id, name: newName('other') })),
      ],
    },
    {
      name: 'rename the organization',
      through: [
        rest(({ root }) => ['PATCH', `iam/v2beta1/groups/${root}`, { name: newName('other') }]),
        rest(({ root }) => ['PUT', `iam/v1/groups/${root}`, { name: newName('other') }]),
        grpc(GroupsService.method.updateGroup, ({ root: uid }) => ({
          group: { uid, name: newName('other') },
        })),
        grpc(Groups.method.update, ({ root: id }) => ({ id, name: newName('other') })),
      ],
    },
    {
      name: 'delete the folder above the repo',
      through: [
        rest(({ folder }) => ['DELETE', `iam/v2beta1/groups/${folder}`]),
        grpc(Groups.method.delete, ({ folder: id }) => ({ id })),
      ],
    },
    {
      name: 'read the policy',
      through: [rest((world) => ['GET', policyPath(world).replace('/', '/v2beta1/')])],
      changes: 'nothing',
    },
    {
      name: 'preview what retention would delete',
      through: [
        rest((world) => [
          'POST',
          `${policyPath(world).replace('/', '/v2beta1/')}:preview`,
          { immutableTags: {}, retention: { rules: [{ patterns: ['x'] }] } },
        ]),
      ],
      changes: 'nothing',
    },
    {
      name: 'remove the immutable tags',
      through: setPolicy({ immutableTags: {} }, ['immutable_tags']),
    },
    {
      name: 'except v1 from the immutable tags',
      through: setPolicy({ immutableTags: { patterns: ['v*'], exceptions: ['v1'] } }, ['immutable_tags']),
    },
    {
      name: 'set retention that is not enabled',
      through: setPolicy({ retention: { rules: [{ patterns: ['x'] }] } }, ['retention']),
    },
    {
      name: 'enable retention that deletes tags',
      through: setPolicy({ retention: { enabled: true, rules: [{ patterns: ['x'] }] } }, ['retention']),
    },
    {
      name: 'run the retention that an owner enabled',
      prepare: async (world, { organization }) => {
        const retention = { enabled: true, rules: [{ patterns: ['x'] }] }
        const reply = await organization.owner.api.patch(policyPath(world), { retention })
        assert.equal(reply.status, 200, reply.text)
      },
      through: [rest((world) => ['POST', `${policyPath(world).replace('/', '/v2beta1/')}:apply`, {}])],
      changes: 'nothing protected',
    },
    {
      name: 'mount a blob of v1 into a new repo beside it',
      through: [
        async ({ path, folderName, image }, member) => {
          const [, layer] = image.blobs
          assert.ok(layer !== undefined)
          const [{ digest }] = JSON.parse(image.manifest.toString()).layers
          const target = path.replace(/app$/, newName('mounted'))
          assert.match(target, new RegExp(folderName))
          const reply = await member.request('POST', `${target}/blobs/uploads/?mount=${digest}&from=${path}`)
          return reply.status === 202 ? 'u' : ofOci(reply)
        },
      ],
      changes: 'nothing protected',
    },
    {
      name: 'pull v1',
      through: [oci(({ path }, member) => member.request('GET', `${path}/manifests/v1`))],
      changes: 'nothing',
    },
  ]

  test('R19, R20, R21: each role can do exactly what the reviewed table says to a protected tag, by every protocol', async () => {
    const registry = await createRegistryFixture(cast())
    const { api } = registry.organization.owner
    const cells = new Map(operations.map(({ name }) => [name, [] as Result[]]))
    for (const column of isFirst ? columns : columns.filter(({ name }) => sampled.has(name))) {
      const member = await memberOf(registry, column)
      const names = column.capabilities ?? capabilitiesOf(column.name)
      const mayChangePolicies = names.includes(POLICIES)
      let world: World | undefined
      for (const { name, prepare, through, changes } of operations) {
        const why = `${name} as ${column.name}`
        const results = new Set<Result>()
        const isPrepared = prepare !== undefined
        if (isPrepared) world = undefined
        for (const attempt of through) {
          if (world === undefined) {
            world = await made(registry)
            await prepare?.(world, registry)
          }
          const result = await attempt(world, member)
          results.add(result)
          if (result !== '+' || changes === 'nothing') continue
          assert.ok(mayChangePolicies || changes === 'nothing protected', why)
          world = undefined
        }
        if (!mayChangePolicies && changes === undefined && world !== undefined) {
          assert.deepEqual((await api.get(policyPath(world))).body.immutableTags.patterns, ['v*'], why)
          if (prepare !== withoutTags) {
            // What the attempts would make possible is tried too: to push another image as v1.
            assertOciError(await putManifest(member, world.path, 'v1', world.other), 403, 'DENIED', why)
            const { headers } = await registry.owner.request('HEAD', `${world.path}/manifests/v1`)
            assert.equal(headers.get('docker-content-digest'), world.image.digest, why)
          }
        }
        if (isPrepared) world = undefined
        assert.equal(results.size, 1, `${why} differs by protocol: ${[...results]}`)
        cells.get(name)?.push(...results)
        seen.set(why, [...(seen.get(why) ?? []), ...results])
      }
    }
    for (const [why, results] of seen)
      assert.equal(new Set(results).size, 1, `${why} differs by database: ${results}`)
    if (!isFirst) return
    const width = Math.max(...operations.map(({ name }) => name.length)) + 2
    const numbers = columns.map((_, at) => String(at + 1).padStart(3)).join('')
    assertGolden(
      'protected-tags.txt',
      `What each role can do to a repo whose policy makes the tags v* immutable. The repo has the tag v1 and is in a folder; the role
is bound at the organization. Each operation gives the same result over REST, gRPC, version 1 and the OCI protocol, where they have it.

${Object.entries(legend)
  .map(([sign, meaning]) => `  ${sign}  ${meaning}`)
  .join('\n')}

${columns.map(({ name }, at) => `${String(at + 1).padStart(3)}  ${name}`).join('\n')}

${''.padEnd(width)}${numbers}
${operations
  .map(
    ({ name }) => `${name.padEnd(width)}${(cells.get(name) ?? []).map((cell) => cell.padStart(3)).join('')}`,
  )
  .join('\n')}
`,
    )
  })

  test('R19: the capability for policies is granted only by callers who hold it', async () => {
    const registry = await createRegistryFixture(cast())
    const { organization, root } = registry
    const { api } = organization.owner
    const all = capabilitiesOf('owner')
    const manager = await memberOf(registry, {
      name: '',
      capabilities: all.filter((name) => name !== POLICIES),
    })
    const capabilities = capabilitiesJson(POLICIES)
    const name = newName('keeper')
    const keeper = await api.create(`iam/roles/${root}`, { name, capabilities })
    const other = await manager.api.create(`iam/roles/${root}`, {
      name: newName('x'),
      capabilities: ['CAP_REPO_LIST'],
    })
    const robot = await manager.api.create(`iam/identities/${root}`, { name: newName('robot'), claimMatch })
    const binding = await manager.api.create(`iam/roleBindings/${root}`, {
      identityUid: robot.uid,
      roleUid: other.uid,
    })
    const oidc = { issuer: 'https://login.example', clientId: 'berth', clientSecret: 'correct horse' }
    for (const roleUid of [keeper.uid, managedRole('owner')]) {
      const identityUid = robot.uid
      for (const [path, body] of [
        [`iam/roleBindings/${root}`, { identityUid, roleUid }],
        [`iam/groupInvites/${root}`, { roleUid, ttl: '3600s' }],
        [`iam/identityProviders/${root}`, { name: newName('provider'), defaultRole: roleUid, oidc }],
      ] as const)
        assertError(await manager.api.post(path, body), permissionDeniedError)
      assertError(
        await manager.api.patch(`iam/roleBindings/${binding.uid}`, { roleUid }),
        permissionDeniedError,
      )
    }
    assertError(
      await manager.api.post(`iam/roles/${root}`, { name: newName('own'), capabilities }),
      permissionDeniedError,
    )
    assertError(await manager.api.patch(`iam/roles/${other.uid}`, { capabilities }), permissionDeniedError)
    assert.equal(
      (await api.post(`iam/roleBindings/${root}`, { identityUid: robot.uid, roleUid: keeper.uid })).status,
      200,
    )
  })

  test('errors name the missing capability and why, the same in the API and the registry', async () => {
    const registry = await createRegistryFixture(cast())
    const { repo, path, other, tag, folder } = await made(registry)
    const pusher = await registry.member('registry.push')
    const immutable =
      /tag v1 of repo app is immutable by the policy of the repo: it matches the pattern \S+\. Moving or deleting it requires a policy that excludes it; changing the policy requires repo_policies\.update/
    const overwritten = await putManifest(pusher, path, 'v1', other)
    assertOciError(overwritten, 403, 'DENIED')
    assert.match(overwritten.json.errors[0].message, immutable)
    assert.match((await pusher.api.delete(`registry/tags/${tag}`)).body.message, immutable)
    const deleted = await pusher.api.delete(`registry/repos/${repo}`)
    assertError(deleted, permissionDeniedError)
    assert.match(
      deleted.body.message,
      /^Permission denied: deleting a repo with a policy \(immutable tags or retention\) requires repo_policies\.update\./,
    )
    const renamer = await memberOf(registry, { name: '', capabilities: ['groups.update'] })
    const renamed = await renamer.api.patch(`iam/groups/${folder}`, { name: newName('other') })
    assert.match(
      renamed.body.message,
      /renaming a group above a repo with a policy .* requires repo_policies\.update/,
    )
  })

  test('rejected attempts on protected tags are in the audit log', async () => {
    const registry = await createRegistryFixture(cast())
    const { repo, path, other, tag } = await made(registry)
    const { uid, api, ...client } = await registry.member('registry.push')
    await putManifest(client, path, 'v1', other)
    await api.delete(`registry/tags/${tag}`)
    await api.delete(`registry/repos/${repo}`)
    await api.patch(`registry/repos/${repo}/policy`, { immutableTags: {} })
    const { token } = registry.organization.owner.api
    const seen = new Set<string>()
    const readEvents = async () => {
      const { body } = await call('GET', `${cast().berth.url}/audit/v1/events?actor=${uid}`, { token })
      for (const { code, method, resourceUid } of body.events)
        seen.add(
          `${code} ${method.split('/')[1]} ${resourceUid === tag ? 'tag' : resourceUid === repo ? 'repo' : resourceUid}`,
        )
      return seen
    }
    await eventually(readEvents, ({ size }) => size >= 4)
    assert.deepEqual([...seen].sort(), [
      '7 DeleteRepo repo',
      '7 UpdateRepoPolicy repo',
      '9 DeleteTag tag',
      '9 PutManifest tag',
    ])
  })

  test('a retention policy alone keeps its repo from deletion by push roles; a policy without effect does not', async () => {
    const registry = await createRegistryFixture(cast())
    const { api } = registry.organization.owner
    const pusher = await registry.member('registry.push')
    const repoWith = async (policy: object) => {
      const { uid } = await api.create(`registry/repos/${registry.root}`, { name: newName('repo') })
      const reply = await api.patch(`registry/repos/${uid}/policy`, policy, 'immutable_tags,retention')
      assert.equal(reply.status, 200, reply.text)
      return uid
    }
    for (const policy of [
      { retention: { rules: [{ newest: 3 }] } },
      { retention: { untaggedAfter: '86400s' } },
      { immutableTags: { patterns: ['*'] } },
    ]) {
      const uid = await repoWith(policy)
      assertError(await pusher.api.delete(`registry/repos/${uid}`), permissionDeniedError)
      assert.equal((await api.delete(`registry/repos/${uid}`)).status, 200)
    }
    for (const policy of [{}, { immutableTags: {} }, { immutableTags: {}, retention: {} }]) {
      const uid = await repoWith(policy)
      assert.equal((await pusher.api.delete(`registry/repos/${uid}`)).status, 200)
    }
  })

  test('renaming a group requires the capability for every repo with a policy in it, at any depth', async () => {
    const registry = await createRegistryFixture(cast())
    const { api } = registry.organization.owner
    const { root, folder, repo } = await made(registry)
    const { uid: free } = await api.create(`iam/groups/${root}`, { name: newName('free') })
    const role = await api.create(`iam/roles/${root}`, {
      name: newName('custom'),
      capabilities: capabilitiesJson('groups.update', POLICIES),
    })
    const renamer = await memberOf(registry, { name: '', capabilities: ['groups.update'] })
    await api.create(`iam/roleBindings/${folder}`, { identityUid: renamer.uid, roleUid: role.uid })
    const rename = (group: string) => renamer.api.patch(`iam/groups/${group}`, { name: newName('renamed') })
    for (const group of [root, folder, free]) assert.equal((await rename(group)).status, 200)
    const outside = await api.create(`registry/repos/${free}`, { name: 'app' })
    const path = `registry/repos/${outside.uid}/policy`
    assert.equal((await api.patch(path, { immutableTags: { patterns: ['*'] } })).status, 200)
    assertError(await rename(root), permissionDeniedError)
    assert.equal((await rename(folder)).status, 200)
    assertError(await rename(free), permissionDeniedError)
    assert.equal((await renamer.api.patch(`iam/groups/${free}`, { description: 'Changed' })).status, 200)

    // Policies that say nothing may be many, and come before the one that does.
    const { kysely } = cast().berth.berth.installation.store.db
    const row = await kysely
      .selectFrom('repo_policies')
      .selectAll()
      .where('uid', '=', repo)
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: 450 }, (_, n) => ({
      ...row,
      uid: `${free}/${n.toString(16).padStart(16, '0')}`,
      policy: new Uint8Array(0),
    }))
    for (let at = 0; at < rows.length; at += 50)
      await kysely
        .insertInto('repo_policies')
        .values(rows.slice(at, at + 50))
        .execute()
    assertError(await rename(free), permissionDeniedError)
    assert.equal((await api.delete(`registry/repos/${outside.uid}`)).status, 200)
    assert.equal((await rename(free)).status, 200)
  })

  test('of the managed roles only owner holds the capability', () => {
    const needed = capabilitySetOf([Capability.CAP_REPO_POLICIES_UPDATE])
    const holders = managedRoles.filter(({ capabilities }) => includesAll(capabilities, needed))
    assert.deepEqual(
      holders.map(({ name }) => name),
      ['owner'],
    )
  })
})
