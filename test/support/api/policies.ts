import assert from 'node:assert/strict'
import { systemPolicyByName } from '@berth/server/policies/rules/system-policies.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { call, type RestReply } from './rest.ts'

/** Policies, bindings, overrides and decisions as one caller sees them. */
export function policiesOf({ url }: Pick<TestBerth, 'url'>, token: string) {
  const at = (path: string) => `${url}/policies/v1/${path}`
  const request = (method: string, path: string, body?: unknown): Promise<RestReply> =>
    call(method, at(path), { token, ...(body !== undefined && { body }) })
  const created = async (path: string, body: unknown) => {
    const reply = await request('POST', path, body)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }
  const list = async (path: string, query: Readonly<Record<string, string>> = {}) => {
    const reply = await request('GET', `${path}?${new URLSearchParams(query)}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body
  }
  return {
    request,
    list,
    createPolicy: (parent: string, policy: object) => created(`policies/${parent}`, policy),
    bind: (parent: string, policy: string, parameters: object = {}, mode = 'POLICY_MODE_ENFORCED') =>
      created(`bindings/${parent}`, { policy, mode, parameters }),
    override: (parent: string, policyId: string, digest: string, reason = 'accepted') =>
      created(`overrides/${parent}`, { policyId, digest, reason }),
    decisions: async (query: Readonly<Record<string, string>> = {}) => (await list('decisions', query)).items,
  }
}

export function systemPolicyUid(name: string): string {
  const policy = systemPolicyByName.get(name)
  if (policy === undefined) throw new Error(`there is no system policy ${name}`)
  return policy.uid
}
