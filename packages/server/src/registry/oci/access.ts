import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
} from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { isWithin, rootOf } from '../../api/uid.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import { suggestRoles } from '../../iam/managed-roles.ts'
import type { Authenticate } from '../../pipeline/authenticate.ts'
import { type Authorization, authorizeScope, type Grants, isNarrowed } from '../../pipeline/authorization.ts'
import type { Caller } from '../../pipeline/call.ts'
import { whenReady } from '../../runtime/when-ready.ts'
import { ociError } from './errors.ts'
import { type RepoReference, scopeOf } from './repo-names.ts'

/** Who calls the registry, and the proof that it may: by the same grants as everywhere, for each operation. */

/** The proof that the caller may run an operation on a repository. Operations have no other reference to one. */
export interface RepoAuthorization extends Authorization {
  readonly repository: RepoReference
}

/** What a token of the token endpoint is requested for. */
export type Action = 'pull' | 'push' | 'delete'

/** The capabilities that each operation requires (the registry roles of iam/managed-roles.ts hold them). */
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

/** The most that the anonymous identity may do, whatever is bound to it by mistake. */
const publicCapabilities = capabilitySetOf(
  [
    operationCapabilities.pullBlob,
    operationCapabilities.pullManifest,
    operationCapabilities.listTags,
    operationCapabilities.listReferrers,
    operationCapabilities.listRepos,
  ].flatMap(capabilitiesIn),
)

export const anonymousCaller: Caller = {
  identity: ANONYMOUS_IDENTITY,
  scopes: undefined,
  capabilities: publicCapabilities,
  session: undefined,
  isAnonymous: true,
}

/** Returns the caller of a bearer token, or the anonymous one if there is no token. Throws code 16. */
export function authenticateBearer(
  authenticate: Authenticate,
  authorization: string | undefined,
): Caller | Promise<Caller> {
  if (authorization === undefined) return anonymousCaller
  return whenReady(authenticate(authorization), restrictAnonymous)
}

/** Returns the anonymous caller for a token of the anonymous identity, with the scopes of the token. */
function restrictAnonymous(caller: Caller): Caller {
  if (caller.identity !== ANONYMOUS_IDENTITY) return caller
  const { registryScopes } = caller
  return registryScopes === undefined ? anonymousCaller : { ...anonymousCaller, registryScopes }
}

/**
 * Authorizes a caller for an operation on a repository, before anything shows whether it exists (R30, R35). Throws DENIED for a known caller
 * without the capabilities, whom no other token would help, and UNAUTHORIZED if another token may help.
 */
export function authorizeRepo(
  { caller, grants }: { readonly caller: Caller; readonly grants: Grants },
  repository: RepoReference,
  required: CapabilitySet,
  action: Action,
): RepoAuthorization {
  const { text } = repository.name
  const scope = scopeOf(repository)
  const authorization = authorizeScope(caller, grants, scope, required, (missing) =>
    caller.isAnonymous === true
      ? ociError('UNAUTHORIZED', `${actionTexts[action]} ${text} needs a token: sign in to the registry`)
      : deniedError({ caller, grants }, repository, missing, action),
  )
  if (!tokenAllows(caller, text, action))
    throw ociError(
      'UNAUTHORIZED',
      `the token does not include ${action} for ${text}; request one with the scope repository:${text}:${action}`,
    )
  return { ...authorization, repository }
}

const actionTexts: Readonly<Record<Action, string>> = {
  pull: 'pulling',
  push: 'pushing to',
  delete: 'deleting in',
}

/**
 * Names the missing capabilities and the roles that include them: clients print it. Outside of the organizations of the caller the text is
 * the same whether the repository exists or not (R35).
 */
function deniedError(
  { caller, grants }: { readonly caller: Caller; readonly grants: Grants },
  repository: RepoReference,
  missing: CapabilitySet,
  action: Action,
) {
  const { text } = repository.name
  if (!isNarrowed(caller) && !hasGrantsAround(grants, repository))
    return ociError('DENIED', `${text} not found or not visible to you`, { auditUid: scopeOf(repository) })
  const names = capabilitiesIn(missing).map(capabilityName)
  const needed = `${actionTexts[action]} ${text} requires ${names.join(', ')}`
  const roles = suggestRoles(missing)
  const group = text.slice(0, text.lastIndexOf('/'))
  const message = isNarrowed(caller)
    ? `${needed}, which this token does not include: it is restricted to some groups or capabilities, or its identity lacks them`
    : `${needed}, which you do not have. Ask an owner of ${group} for a role that includes it${roles.length === 0 ? '' : `: ${roles.join(' or ')}`}`
  return ociError('DENIED', message, {
    auditUid: scopeOf(repository),
    ociDetail: { capabilities: names, roles },
  })
}

/** Whether the caller has a role anywhere in the organization of a repository, or on the platform. */
function hasGrantsAround({ readableScopes }: Grants, { group }: RepoReference): boolean {
  return group !== undefined && readableScopes.some((scope) => scope === '' || isWithin(scope, rootOf(group)))
}

/** Whether a token is valid for the catalog of repositories (R35). */
export function tokenAllowsCatalog({ registryScopes }: Caller): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(({ type, name }) => type === 'registry' && name === 'catalog')
  )
}

/** Whether a token is valid for a repository. Only tokens of the token endpoint are limited. */
export function tokenAllows({ registryScopes }: Caller, name: string, action: Action): boolean {
  return (
    registryScopes === undefined ||
    registryScopes.some(
      (scope) => scope.type === 'repository' && scope.name === name && scope.actions.includes(action),
    )
  )
}
