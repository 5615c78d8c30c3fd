import type { Binding, Decision, DecisionFilter, Override, Policy, SignatureVerifier } from '@berth/client'
import { queryOptions } from '@tanstack/react-query'
import { api } from '../client.ts'
import { organizationOf, parentOf } from './groups.ts'
import { PAGE_SIZE, PAGE_SIZE_MAX, paged } from './pages.ts'

/** Policies at pull: policies, what binds them, overrides and decisions. Policies of retention are in registry/policies.ts. */

/** Whether what is in one folder or repository applies to another: it is the same, or contains it. */
const appliesTo = (owner: string, uid: string): boolean => uid === owner || uid.startsWith(`${owner}/`)

export const isSystemPolicy = ({ policyType }: Pick<Policy, 'policyType'>): boolean =>
  policyType === 'POLICY_TYPE_SYSTEM'

/** The system policies, and the policies of an organization that the user can read. At most 1000 (policiesMax). */
export const policiesQuery = (organization: string) =>
  queryOptions({
    queryKey: ['pull-policies', organization],
    queryFn: async ({ signal }) => {
      const policies: Policy[] = []
      const filter = { orderBy: 'name', pageSize: PAGE_SIZE_MAX }
      for await (const policy of api.policies.all(filter, { signal }))
        if (isSystemPolicy(policy) || organizationOf(policy.id) === organization) policies.push(policy)
      return policies
    },
  })

/** The bindings of an organization that the user can read. At most 200 (policyBindingsMax). */
export const bindingsQuery = (organization: string) =>
  queryOptions({
    queryKey: ['policy-bindings', organization],
    queryFn: async ({ signal }): Promise<readonly Binding[]> => {
      const request = { uidp: { descendantsOf: organization }, pageSize: PAGE_SIZE_MAX }
      return (await api.bindings.list(request, { signal })).items
    },
  })

/** The bindings that apply to a folder or repository, those of the organization first. */
export const bindingsOf = (bindings: readonly Binding[], uid: string): Binding[] =>
  bindings
    .filter(({ id }) => appliesTo(parentOf(id), uid))
    .toSorted((a, b) => parentOf(a.id).length - parentOf(b.id).length)

/** The policies of which an override in a folder or repository can make a difference: those that are applied above, in or below it. */
export const overridablePolicies = (
  policies: readonly Policy[],
  bindings: readonly Binding[],
  uid: string,
): Policy[] =>
  policies.filter(({ id }) =>
    bindings.some(
      (binding) =>
        binding.policy === id &&
        (appliesTo(parentOf(binding.id), uid) || appliesTo(uid, parentOf(binding.id))),
    ),
  )

/** The verifiers of signatures that count in a folder or repository, those of the organization first. */
export const verifiersQuery = (uid: string) =>
  queryOptions({
    queryKey: ['signature-verifiers', uid],
    queryFn: async ({ signal }) => {
      const verifiers: SignatureVerifier[] = []
      const filter = { uidp: { descendantsOf: organizationOf(uid) }, pageSize: PAGE_SIZE_MAX }
      for await (const verifier of api.signatureVerifiers.all(filter, { signal }))
        if (appliesTo(parentOf(verifier.uid), uid)) verifiers.push(verifier)
      return verifiers.sort((a, b) => parentOf(a.uid).length - parentOf(b.uid).length)
    },
  })

/** Overrides in a folder or repository and everything in it. */
export const overridesQuery = (uid: string) =>
  paged<Override>(['policy-overrides', uid], async (pageToken, signal) => {
    const request = {
      uidp: { descendantsOf: uid },
      orderBy: 'created_at desc',
      pageSize: PAGE_SIZE,
      pageToken,
    }
    return api.overrides.list(request, { signal })
  })

/** The overrides of a digest that apply to a repository. Of each folder above it, the newest 200 overrides are searched. */
export const digestOverridesQuery = (repo: string, digest: string) =>
  queryOptions({
    queryKey: ['policy-overrides', repo, digest],
    queryFn: async ({ signal }) => {
      const owners = repo.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))
      const pages = await Promise.all(
        owners.map((childrenOf) => {
          const request = { uidp: { childrenOf }, orderBy: 'created_at desc', pageSize: PAGE_SIZE_MAX }
          return api.overrides.list(request, { signal })
        }),
      )
      return {
        overrides: pages.flatMap(({ items }) => items).filter((override) => override.digest === digest),
        isComplete: pages.every(({ nextPageToken }) => nextPageToken === ''),
      }
    },
  })

/** Decisions in a folder or repository and everything in it. */
export const decisionsQuery = (uid: string, filter: DecisionFilter) =>
  paged<Decision>(['policy-decisions', uid, filter], async (pageToken, signal) => {
    const request = { uidp: { descendantsOf: uid }, ...filter, pageSize: PAGE_SIZE, pageToken }
    return api.decisions.list(request, { signal })
  })
