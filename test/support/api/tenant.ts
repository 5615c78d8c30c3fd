import assert from 'node:assert/strict'
import { capabilityByName } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { call, type RestReply } from './rest.ts'

/** What tests set up through the API, as its owner unless they say otherwise. */

export async function createResource(
  berth: Pick<TestBerth, 'url' | 'token'>,
  path: string,
  body: unknown,
  token = berth.token,
): Promise<RestReply['body']> {
  const reply = await call('POST', `${berth.url}${path}`, { token, body })
  assert.equal(reply.status, 200, `${path}: ${reply.text}`)
  return reply.body
}

export async function createOrganization(
  berth: Pick<TestBerth, 'url' | 'token'>,
  name: string,
): Promise<string> {
  return (await createResource(berth, '/iam/v2beta1/groups', { name })).uid
}

/** As the operator does, so that its name stands for it. */
export async function verifyOrganization(
  berth: Pick<TestBerth, 'url' | 'token'>,
  organization: string,
): Promise<void> {
  const reply = await call('PATCH', `${berth.url}/iam/v2beta1/groups/${organization}`, {
    token: berth.token,
    body: { verified: true, kind: 'ORG_KIND_CUSTOMER' },
  })
  assert.equal(reply.status, 200, reply.text)
}

export async function createGroup(
  berth: Pick<TestBerth, 'url' | 'token'>,
  parent: string,
  name: string,
): Promise<string> {
  return (await createResource(berth, `/iam/v2beta1/groups/${parent}`, { name })).uid
}

/** An identity that trusts no existing issuer, or what `relationship` says. */
export async function createIdentity(
  berth: Pick<TestBerth, 'url' | 'token'>,
  group: string,
  relationship: object = { claimMatch: { issuer: 'https://ci.example.com', subject: 'somebody' } },
  name = 'workload',
): Promise<string> {
  return (await createResource(berth, `/iam/v2beta1/identities/${group}`, { name, ...relationship })).uid
}

/** Capabilities by their short names, as JSON has them. */
export function capabilitiesJson(...names: readonly string[]): (string | undefined)[] {
  return names.map((name) => Capability[capabilityByName(name) ?? 0])
}

export async function createRole(
  berth: Pick<TestBerth, 'url' | 'token'>,
  group: string,
  capabilities: readonly string[],
  name = 'custom',
): Promise<string> {
  return (
    await createResource(berth, `/iam/v2beta1/roles/${group}`, {
      name,
      capabilities: capabilitiesJson(...capabilities),
    })
  ).uid
}

/** Binds an identity; `role` is a uid or the name of a managed role. */
export async function bindRole(
  berth: Pick<TestBerth, 'url' | 'token'>,
  group: string,
  identityUid: string,
  role: string,
): Promise<string> {
  const roleUid = managedRoleByName.get(role)?.uid ?? role
  return (await createResource(berth, `/iam/v2beta1/roleBindings/${group}`, { identityUid, roleUid })).uid
}
