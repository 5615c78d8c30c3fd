import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  capabilitiesIn,
  capabilityByName,
  capabilityName,
  capabilitySetOf,
  decodeCapabilitySet,
  encodeCapabilitySet,
  isGrantable,
} from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { managedRoleByName, managedRoleByUid, managedRoles } from './managed-roles.ts'

/** The number of capabilities of each role, and their encoding where one is published. */
const published: readonly [name: string, size: number, encoded?: string][] = [
  ['owner', 138, 'AAAAAAAAAN7_8gDx4eD__vn--DBJ__tvlCHm8B_wHmMAAAAAPn_8uQ=='],
  ['editor', 62, 'AAAAAAAAAN1PQgDwgIBESNiIGDBIiqlkFCCgkBRACAAAAAAAFl-ACQ=='],
  ['viewer', 51, 'AAAAAAAAAN1EQgBAgIBESNiIGDBIiqlkFCCgkBRACAAAAAAAFgSACQ=='],
  ['console_viewer', 45, 'AAAAAAAAAN1EQgBAgIBESBiIADBIiqlkBACgkBRACAAAAAAAFgSACQ=='],
  ['limited_owner', 53, 'AAAAAAAAAN1EQgBAoIBUSNiIGDBIiqlkFCCgkBRACAAAAAAAFgSACQ=='],
  ['registry.pull', 10, 'AAAAAAAAAH1EAgAAAAAACBAACAAAAAFk'],
  ['registry.push', 20, 'AAAAAAAAAH3_AgAAAAAAChAACAAAAAFv'],
  ['registry.pull_token_creator', 15],
  ['apk.pull', 3, 'AAAAAAAAAG0AAAAAAAAACAAAEAAAAAgA'],
  ['libraries.java.pull', 2],
  ['libraries.python.pull', 2],
  ['libraries.javascript.pull', 2],
  ['libraries.java.pull_token_creator', 6],
  ['libraries.python.pull_token_creator', 6],
  ['libraries.javascript.pull_token_creator', 6],
  ['guardener.user', 16],
  ['guardener.admin', 18],
  ['actions.viewer', 1],
  ['advisories.viewer', 1, 'AAAAAAAAAFwAAAAAAAAAAAAAAAAIAAAA'],
  ['advisories.admin', 5],
  ['catalog.admin', 9],
  ['operator', 0],
  ['argos.osv.reader', 1],
]

test('the managed roles are the published ones', () => {
  assert.deepEqual(
    managedRoles.map((role) => role.name),
    published.map(([name]) => name),
  )
})

/** Capabilities that the public platform does not have, by role. */
const own: Readonly<Record<string, readonly Capability[]>> = {
  owner: [
    Capability.CAP_REPO_POLICIES_UPDATE,
    Capability.CAP_SIGNATURE_VERIFIERS_LIST,
    Capability.CAP_SIGNATURE_VERIFIERS_CREATE,
    Capability.CAP_SIGNATURE_VERIFIERS_UPDATE,
    Capability.CAP_SIGNATURE_VERIFIERS_DELETE,
  ],
  editor: [Capability.CAP_SIGNATURE_VERIFIERS_LIST],
  viewer: [Capability.CAP_SIGNATURE_VERIFIERS_LIST],
  console_viewer: [Capability.CAP_SIGNATURE_VERIFIERS_LIST],
  limited_owner: [Capability.CAP_SIGNATURE_VERIFIERS_LIST],
  operator: [Capability.CAP_OPERATOR_GET, Capability.CAP_OPERATOR_UPDATE],
}

for (const [name, size, encoded] of published) {
  test(`${name} holds the ${size} published capabilities, and ${own[name]?.map(capabilityName).join() ?? 'no others'}`, () => {
    const role = managedRoleByName.get(name) ?? assert.fail('no such role')
    const added = own[name] ?? []
    const rest = capabilitySetOf(
      capabilitiesIn(role.capabilities).filter((capability) => !added.includes(capability)),
    )
    assert.deepEqual(capabilitiesIn(role.capabilities).length, size + added.length)
    assert.equal(capabilitiesIn(rest).length, size)
    if (encoded === undefined) return
    assert.equal(encodeCapabilitySet(rest), encoded)
    assert.equal(decodeCapabilitySet(encoded), rest)
    assert.equal(decodeCapabilitySet(encodeCapabilitySet(role.capabilities)), role.capabilities)
  })
}

const ofOperator: Readonly<Record<string, readonly Capability[]>> = {
  'catalog.admin': [Capability.CAP_REPO_INTERNAL_ADMIN, Capability.CAP_REGISTRY_DEPLOYMENTS_UPDATE],
  operator: [Capability.CAP_OPERATOR_GET, Capability.CAP_OPERATOR_UPDATE],
}

test('every managed role has a uid at the root level, a description, and no capability of the operator except the catalog and the operator API', () => {
  for (const role of managedRoles) {
    assert.match(role.uid, /^[0-9a-f]{40}$/)
    assert.notEqual(role.description, '')
    assert.deepEqual(
      capabilitiesIn(role.capabilities).filter((capability) => !isGrantable(capability)),
      ofOperator[role.name] ?? [],
      role.name,
    )
  }
})

/** What each role cannot do: the words in its description, and capabilities that it does not hold. */
const cannot: readonly [name: string, words: string, capabilities: string][] = [
  [
    'owner',
    'change advisories',
    'advisories.create advisories.update advisories.approve repo.internal.admin',
  ],
  [
    'editor',
    'push images, create folders or grant roles',
    'manifest.create groups.create role_bindings.create',
  ],
  ['viewer', 'change anything', 'repo.update manifest.create groups.update'],
  ['console_viewer', 'pull images or packages', 'repo.blobs.get apk.blobs.get'],
  ['limited_owner', 'push images or change repos', 'manifest.create repo.update'],
  ['registry.pull', 'push or delete', 'manifest.create manifest.delete tag.delete'],
  ['registry.push', 'change policies or grant roles', 'repo_policies.update role_bindings.create'],
  ['registry.pull_token_creator', 'push or delete images', 'manifest.create manifest.delete'],
  ['apk.pull', 'pull images, or publish or delete packages', 'repo.blobs.get apk.create apk.delete'],
  ...(['java', 'python', 'javascript'] as const).flatMap((ecosystem): [string, string, string][] => [
    [
      `libraries.${ecosystem}.pull`,
      'publish them, or change remote registries and policies',
      `libraries.${ecosystem}.create libraries.remote_registries.create libraries.policy.update`,
    ],
    [
      `libraries.${ecosystem}.pull_token_creator`,
      'publish libraries, or pull images',
      `libraries.${ecosystem}.create repo.blobs.get`,
    ],
  ]),
  [
    'guardener.user',
    'accept its terms, link it to code hosts, or push images',
    'terms.accept guardener.association.manage manifest.create',
  ],
  ['guardener.admin', 'push images or grant roles', 'manifest.create role_bindings.create'],
  ['actions.viewer', 'read or change anything else', 'groups.list repo.list'],
  [
    'advisories.viewer',
    'import, review or remove them',
    'advisories.create advisories.update advisories.approve advisories.delete',
  ],
  ['advisories.admin', 'read or change anything else', 'groups.list repo.update role_bindings.create'],
  ['catalog.admin', 'pull or push images', 'repo.blobs.get manifest.create'],
  ['operator', 'read or change anything in organizations', 'groups.list repo.list manifest.create'],
  ['argos.osv.reader', 'read advisories, or change anything', 'advisories.list advisories.update'],
]

test('the description of each managed role says what the role cannot do', () => {
  const listed = new Set(cannot.map(([name]) => name))
  assert.deepEqual(listed, new Set(managedRoles.map(({ name }) => name)))
  for (const [name, words, missing] of cannot) {
    const role = managedRoleByName.get(name) ?? assert.fail(`there is no role ${name}`)
    const [, described = ''] = role.description.split('Cannot ')
    assert.ok(described.includes(words), `${name}: ${role.description}`)
    const held = capabilitiesIn(role.capabilities)
    for (const text of missing.split(' ')) {
      const capability = capabilityByName(text) ?? assert.fail(`there is no capability ${text}`)
      assert.ok(!held.includes(capability), `${name} holds ${text}`)
    }
  }
})

test('a managed role is found by uid and by name', () => {
  assert.equal(managedRoleByUid.size, managedRoles.length)
  assert.equal(managedRoleByName.size, managedRoles.length)
  for (const role of managedRoles)
    assert.equal(managedRoleByUid.get(role.uid), managedRoleByName.get(role.name))
})

test('the uid of a managed role never changes', () => {
  assert.equal(managedRoleByName.get('owner')?.uid, 'dc2e7550807bb217052a183a77c9519ea1cd2ffe')
})
