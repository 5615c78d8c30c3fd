import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
  includesAll,
} from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { unauthenticated } from '../../api/errors.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import type { Authenticate } from '../../pipeline/authenticate.ts'
import type { Grants, ReadGrants } from '../../pipeline/authorization.ts'
import type { Caller } from '../../pipeline/call.ts'
import { assignShare } from '../../pipeline/request-context.ts'
import { ociError } from './errors.ts'
import { type RepoReference, scopeOf } from './repo-names.ts'

/** Who asks the registry, and whether they may: by the same grants as everywhere, an operation at a time. */

export interface OciAccess {
  readonly caller: Caller
  readonly grants: Grants
  /** Without a token, or with one that the token endpoint gave to somebody without one. */
  readonly isAnonymous: boolean
}

/** What tokens of the token endpoint are asked for. */
export type Action = 'pull' | 'push' | 'delete'

/** Everything that each operation needs (the registry roles of core/managed-roles.ts hold them). */
export const operationCapabilities = {
  pullBlob: capabilitySetOf([Capability.CAP_REPO_BLOBS_GET]),
  pullManifest: capabilitySetOf([Capability.CAP_MANIFEST_LIST]),
  listTags: capabilitySetOf([Capability.CAP_TAG_LIST]),
  listReferrers: capabilitySetOf([Capability.CAP_REFERRERS_LIST]),
  listRepos: capabilitySetOf([Capability.CAP_REPO_LIST]),
  push: capabilitySetOf([Capability.CAP_MANIFEST_CREATE]),
  pushTag: capabilitySetOf([Capability.CAP_MANIFEST_CREATE, Capability.CAP_TAG_CREATE]),
  deleteManifest: capabilitySetOf([Capability.CAP_MANIFEST_DELETE]),
  deleteTag: capabilitySetOf([Capability.CAP_TAG_DELETE]),
  createRepo: capabilitySetOf([Capability.CAP_REPO_CREATE]),
  createFolder: capabilitySetOf([Capability.CAP_IAM_GROUPS_CREATE]),
} as const satisfies Readonly<Record<string, CapabilitySet>>

/** What may be public, whatever else is bound to the anonymous identity by mistake. */
const publicCapabilities = capabilitySetOf(
  [
    operationCapabilities.pullBlob,
    operationCapabilities.pullManifest,
    operationCapabilities.listTags,
    operationCapabilities.listReferrers,
    operationCapabilities.listRepos,
  ].flatMap(capabilitiesIn),
)

const anonymousCaller: Caller = {
  identity: ANONYMOUS_IDENTITY,
  scopes: undefined,
  capabilities: publicCapabilities,
  session: undefined,
}

export interface AccessOptions {
  /** Rejects with code 16. */
  readonly authenticate: Authenticate
  readonly readGrants: ReadGrants
}

/** `authorization` is that of a bearer, or none. Throws code 16. */
export async function authenticateAccess(
  { authenticate, readGrants }: AccessOptions,
  authorization: string | undefined,
): Promise<OciAccess> {
  if (authorization === undefined) return anonymousAccess(readGrants)
  const caller = await authenticate(authorization)
  return caller.identity === ANONYMOUS_IDENTITY
    ? anonymousAccess(readGrants, caller.registryScopes)
    : loadAccess(readGrants, caller)
}

export async function anonymousAccess(
  readGrants: ReadGrants,
  registryScopes?: Caller['registryScopes'],
): Promise<OciAccess> {
  const caller = registryScopes === undefined ? anonymousCaller : { ...anonymousCaller, registryScopes }
  return { ...(await loadAccess(readGrants, caller)), isAnonymous: true }
}

export async function loadAccess(readGrants: ReadGrants, caller: Caller): Promise<OciAccess> {
  if (caller.identity !== ANONYMOUS_IDENTITY) assignShare(caller.identity)
  const grants = await readGrants(caller)
  if (grants === undefined)
    throw unauthenticated('the identity of this token does not exist any more, or its session has ended')
  return { caller, grants, isAnonymous: false }
}

/**
 * Throws UNAUTHORIZED where another token may help, and DENIED for somebody who is known and lacks something, before it is told
 * whether there is such a repo (R30, R35).
 */
export function requireRepoAccess(
  { caller, grants, isAnonymous }: OciAccess,
  repoRef: RepoReference,
  required: CapabilitySet,
  action: Action,
): void {
  const { text } = repoRef.name
  if (!tokenAllows(caller, text, action))
    throw ociError('UNAUTHORIZED', `the token is not for ${action} of ${text}; ask for one that is`)
  const scope = scopeOf(repoRef)
  const held = grants.at(scope)
  if (includesAll(held, required)) return
  if (isAnonymous) throw ociError('UNAUTHORIZED', `${action} of ${text} needs a token`)
  const missing = capabilitiesIn((required & ~held) as CapabilitySet).map(capabilityName)
  throw ociError('DENIED', `for this at ${text} you need ${missing.join(', ')}`, { about: scope })
}

/** Whether a token holds for the names of repos (R35). */
export function tokenAllowsCatalog({ registryScopes }: Caller): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(({ type, name }) => type === 'registry' && name === 'catalog')
  )
}

/** Whether a token holds for a repo: any but those of the token endpoint do. */
export function tokenAllows({ registryScopes }: Caller, name: string, action: Action): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(
      (scope) => scope.type === 'repository' && scope.name === name && scope.actions.includes(action),
    )
  )
}
