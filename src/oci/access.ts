import { Capability } from '#gen/capabilities/capabilities_pb.js'
import type { Authenticate } from '../auth/authenticate.ts'
import type { ReadGrants } from '../auth/grants.ts'
import type { Grants } from '../core/allowed.ts'
import { ANONYMOUS } from '../core/anonymous.ts'
import type { Caller } from '../core/call.ts'
import { type CapabilitySet, includesAll, listOf, nameOf, setOf } from '../core/capabilities.ts'
import { unauthenticated } from '../core/errors.ts'
import { useShareOf } from '../core/request-context.ts'
import { ociError } from './errors.ts'
import { type Place, scopeOf } from './names.ts'

/** Who asks the registry, and whether they may: by the same grants as everywhere, an operation at a time. */

export interface Visitor {
  readonly caller: Caller
  readonly grants: Grants
  /** Without a token, or with one that the token endpoint gave to somebody without one. */
  readonly isAnonymous: boolean
}

/** What tokens of the token endpoint are asked for. */
export type Action = 'pull' | 'push' | 'delete'

/** Everything that each operation needs (the registry roles of core/managed-roles.ts hold them). */
export const needs = {
  pullBlob: setOf([Capability.CAP_REPO_BLOBS_GET]),
  pullManifest: setOf([Capability.CAP_MANIFEST_LIST]),
  listTags: setOf([Capability.CAP_TAG_LIST]),
  listReferrers: setOf([Capability.CAP_REFERRERS_LIST]),
  listRepos: setOf([Capability.CAP_REPO_LIST]),
  push: setOf([Capability.CAP_MANIFEST_CREATE]),
  pushTag: setOf([Capability.CAP_MANIFEST_CREATE, Capability.CAP_TAG_CREATE]),
  deleteManifest: setOf([Capability.CAP_MANIFEST_DELETE]),
  deleteTag: setOf([Capability.CAP_TAG_DELETE]),
  createRepo: setOf([Capability.CAP_REPO_CREATE]),
  createFolder: setOf([Capability.CAP_IAM_GROUPS_CREATE]),
} as const satisfies Readonly<Record<string, CapabilitySet>>

/** What may be public, whatever else is bound to the anonymous identity by mistake. */
const publicCapabilities = setOf(
  [needs.pullBlob, needs.pullManifest, needs.listTags, needs.listReferrers, needs.listRepos].flatMap(listOf),
)

const anonymousCaller: Caller = {
  identity: ANONYMOUS,
  scopes: undefined,
  capabilities: publicCapabilities,
  session: undefined,
}

export interface Visiting {
  /** Rejects with code 16. */
  readonly authenticate: Authenticate
  readonly readGrants: ReadGrants
}

/** `authorization` is that of a bearer, or none. Throws code 16. */
export async function visitorOf(
  { authenticate, readGrants }: Visiting,
  authorization: string | undefined,
): Promise<Visitor> {
  if (authorization === undefined) return anonymous(readGrants)
  const caller = await authenticate(authorization)
  return caller.identity === ANONYMOUS
    ? anonymous(readGrants, caller.registryScopes)
    : visitorFor(readGrants, caller)
}

export async function anonymous(
  readGrants: ReadGrants,
  registryScopes?: Caller['registryScopes'],
): Promise<Visitor> {
  const caller = registryScopes === undefined ? anonymousCaller : { ...anonymousCaller, registryScopes }
  return { ...(await visitorFor(readGrants, caller)), isAnonymous: true }
}

export async function visitorFor(readGrants: ReadGrants, caller: Caller): Promise<Visitor> {
  if (caller.identity !== ANONYMOUS) useShareOf(caller.identity)
  const grants = await readGrants(caller)
  if (grants === undefined)
    throw unauthenticated('the identity of this token does not exist any more, or its session has ended')
  return { caller, grants, isAnonymous: false }
}

/**
 * Throws UNAUTHORIZED where another token may help, and DENIED for somebody who is known and lacks something, before it is told
 * whether there is such a repo (R30, R35).
 */
export function requireAt(
  { caller, grants, isAnonymous }: Visitor,
  place: Place,
  needed: CapabilitySet,
  action: Action,
): void {
  const { text } = place.name
  if (!isInToken(caller, text, action))
    throw ociError('UNAUTHORIZED', `the token is not for ${action} of ${text}; ask for one that is`)
  const scope = scopeOf(place)
  const held = grants.at(scope)
  if (includesAll(held, needed)) return
  if (isAnonymous) throw ociError('UNAUTHORIZED', `${action} of ${text} needs a token`)
  const lacking = listOf((needed & ~held) as CapabilitySet).map(nameOf)
  throw ociError('DENIED', `for this at ${text} you need ${lacking.join(', ')}`, { about: scope })
}

/** Whether a token holds for the names of repos (R35). */
export function isForCatalog({ registryScopes }: Caller): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(({ type, name }) => type === 'registry' && name === 'catalog')
  )
}

/** Whether a token holds for a repo: any but those of the token endpoint do. */
export function isInToken({ registryScopes }: Caller, name: string, action: Action): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(
      (scope) => scope.type === 'repository' && scope.name === name && scope.actions.includes(action),
    )
  )
}
