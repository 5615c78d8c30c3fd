import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  capabilitiesIn,
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
  owner: [Capability.CAP_REPO_POLICIES_UPDATE],
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

test('every managed role has a uid at the root level, a description, and no capability of the operator except the catalog', () => {
  for (const role of managedRoles) {
    assert.match(role.uid, /^[0-9a-f]{40}$/)
    assert.notEqual(role.description, '')
    assert.deepEqual(
      capabilitiesIn(role.capabilities).filter((capability) => !isGrantable(capability)),
      role.name === 'catalog.admin'
        ? [Capability.CAP_REPO_INTERNAL_ADMIN, Capability.CAP_REGISTRY_DEPLOYMENTS_UPDATE]
        : [],
      role.name,
    )
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
