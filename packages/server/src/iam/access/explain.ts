import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityByName,
  capabilityName,
  capabilitySetOf,
  includesAll,
  isGrantable,
  noCapabilities,
} from '@berth/contract/capabilities.ts'
import {
  type ExplainAccessRequest,
  type ExplainAccessResponse,
  MemberKind,
  ExplainAccessResponse_Note as Note,
  ExplainAccessResponse_Outcome as Outcome,
  type SignInResult,
} from '@berth/contract/gen/berth/iam/v1/access_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import type { DescMethod } from '@bufbuild/protobuf'
import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { depthOf, parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, type Grants, isNarrowed } from '../../pipeline/authorization.ts'
import { accessRuleOf } from '../../pipeline/authorize.ts'
import type { Call } from '../../pipeline/call.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { readRowsByUid } from '../../storage/rows-by-uid.ts'
import type { Store } from '../../storage/store.ts'
import { type AssumedSignIn, type GrantRules, grantsOfSignIn } from '../grants-reader.ts'
import type { LastSeen } from '../identities/last-seen.ts'
import { suggestRoles } from '../managed-roles.ts'
import { capabilitiesOfRole } from '../roles.ts'
import {
  identityMember,
  providerMessage,
  type Roles,
  readRoles,
  readSources,
  roleMessage,
  type Source,
  toSource,
} from './members.ts'
import { type ReadablePath, readWhole } from './readable-path.ts'

/**
 * Explains whether an identity can do something. The decision is that of the grants reader, restricted to the groups that the caller can
 * read; bindings and mappings only illustrate it.
 */

export interface ExplainOptions {
  readonly store: Store
  readonly lastSeen: LastSeen
  readonly rules: GrantRules
  /** Every method of the contract. */
  readonly methods: readonly DescMethod[]
}

export async function explainAccess(
  { store, lastSeen, rules, methods }: ExplainOptions,
  call: Call,
  request: ExplainAccessRequest,
  requestedPath: ReadablePath,
): Promise<ExplainAccessResponse> {
  const { identity } = request
  requireValid(checkIdentity(identity))
  const needed = readNeeded(request, methods)
  const { caller, grants } = authorizationOf(call)
  // Callers know all that they can do themselves; the bearer of a narrowed token need not be the identity.
  const isSelf = identity === caller.identity && !isNarrowed(caller)
  const path = isSelf ? readWhole(requestedPath) : requestedPath
  const sources = await readSources(store, path, [identity])
  const roles = await readRoles(
    store,
    sources.map(({ role }) => role),
  )
  const decide = (voucher: AssumedSignIn['voucher']) =>
    grantsOfSignIn(store, rules, {
      identity,
      voucher,
      counts: countedScopes(path),
      mappedScopes: path.mappings.readable,
    })
  const held = heldAt(await decide({ kind: 'direct' }), path.uid)
  const isAllowed = includesAll(held, needed)
  const isHidden = path.bindings.hidden.length > 0
  const row = await readResource(store.db, 'identities', identity)
  const isKnown =
    row !== undefined &&
    (sources.length > 0 ||
      includesAll(grants.at(identity), capabilitySetOf([Capability.CAP_IAM_IDENTITY_LIST])))
  const kind = depthOf(identity) === 0 ? MemberKind.USER : MemberKind.WORKLOAD
  return {
    $typeName: 'berth.iam.v1.ExplainAccessResponse',
    outcome: isAllowed ? Outcome.ALLOWED : isHidden && !path.isSuspended ? Outcome.UNKNOWN : Outcome.DENIED,
    identity: identityMember(isKnown ? lastSeen : undefined, call, path, {
      member: identity,
      kind,
      name: '',
      email: '',
      last_seen_ms: 0,
      ...(isKnown && row),
    }),
    capabilities: capabilityResults(needed, held, roles),
    roles: heldRoles(sources, roles, needed),
    signIns:
      kind === MemberKind.USER && isKnown
        ? await signInResults(store, grants, path, sources, needed, decide)
        : [],
    notes: [
      ...(path.isSuspended ? [Note.ORGANIZATION_SUSPENDED] : []),
      ...(needed === noCapabilities ? [Note.NO_CAPABILITY_REQUIRED] : []),
      ...(capabilitiesIn(needed).every(isGrantable) ? [] : [Note.OPERATOR_ONLY]),
      ...(isHidden ? [Note.ANCESTORS_HIDDEN] : []),
    ],
    suggestedRoles: isAllowed ? [] : suggestRoles(needed),
  }
}

function checkIdentity(identity: string): FieldViolation | undefined {
  if (parseUid(identity) !== undefined) return undefined
  return { field: 'identity', description: identity === '' ? 'is required' : 'must be a uid' }
}

/** Returns the capabilities of the action that a request names. Throws code 3. */
function readNeeded(
  { capability, method }: ExplainAccessRequest,
  methods: readonly DescMethod[],
): CapabilitySet {
  if ((capability === '') === (method === ''))
    throw invalidArgument('capability', 'or method is required, and not both')
  if (capability !== '') return readCapability(capability)
  const found = methods.find((one) => fullMethodName(one) === method)
  if (found === undefined)
    throw invalidArgument('method', 'must be the full name of a method: package.Service/Method')
  const rule = accessRuleOf(found)
  return rule.kind === 'open' ? noCapabilities : rule.capabilities
}

/** Returns the set of a named capability. Throws code 3 for an unknown name. */
export function readCapability(name: string): CapabilitySet {
  if (name === '') throw invalidArgument('capability', 'is required')
  const capability = capabilityByName(name)
  if (capability === undefined)
    throw invalidArgument('capability', 'must be the name of a capability, such as repo.create')
  return capabilitySetOf([capability])
}

/** Roles on the platform are not reported. */
function countedScopes({ bindings }: ReadablePath): (scope: string) => boolean {
  const readable: ReadonlySet<string> = new Set(bindings.readable)
  return (scope) => readable.has(scope)
}

function heldAt(grants: Grants | undefined, uid: string): CapabilitySet {
  return grants?.at(uid) ?? noCapabilities
}

function capabilityResults(needed: CapabilitySet, held: CapabilitySet, roles: Roles) {
  return capabilitiesIn(needed).map((capability) => {
    const one = capabilitySetOf([capability])
    const isHeld = includesAll(held, one)
    return {
      $typeName: 'berth.iam.v1.CapabilityResult' as const,
      capability: capabilityName(capability) ?? '',
      held: isHeld,
      roles: isHeld
        ? [...roles.values()]
            .filter((role) => includesAll(capabilitiesOfRole(role), one))
            .map(({ name }) => name)
        : [],
    }
  })
}

function heldRoles(sources: readonly Source[], roles: Roles, needed: CapabilitySet) {
  return [...Map.groupBy(sources, ({ role }) => role)].map(([uid, of]) => {
    const role = roles.get(uid)
    return {
      $typeName: 'berth.iam.v1.HeldRole' as const,
      role: roleMessage(roles, uid),
      sources: of.map(toSource),
      sufficient: role !== undefined && includesAll(capabilitiesOfRole(role), needed),
    }
  })
}

const identityProvidersList = capabilitySetOf([Capability.CAP_IAM_IDENTITY_PROVIDERS_LIST])

/** Returns the results for providers of the organization, and for those through which the user accepted a role. */
async function signInResults(
  { db }: Store,
  grants: Grants,
  { root, uid }: ReadablePath,
  sources: readonly Source[],
  needed: CapabilitySet,
  decide: (voucher: AssumedSignIn['voucher']) => Promise<Grants | undefined>,
): Promise<SignInResult[]> {
  const own = includesAll(grants.at(root), identityProvidersList)
    ? await db.kysely
        .selectFrom('identity_providers')
        .select('uid')
        .where('root', '=', root)
        .orderBy('uid')
        .limit(limits.explainedProvidersMax)
        .execute()
    : []
  const accepted = sources.map(({ acceptedThrough }) => acceptedThrough).filter((one) => one !== '')
  const uids = [...new Set([...own.map((row) => row.uid), ...accepted])].slice(
    0,
    limits.explainedProvidersMax,
  )
  const providers = await readRowsByUid(db.kysely, 'identity_providers', ['name', 'issuer'], uids)
  const results: SignInResult[] = []
  for (const provider of providers.keys()) {
    const signedIn = await decide({ kind: 'organization', provider: provider as Uid, email: '' })
    results.push({
      $typeName: 'berth.iam.v1.SignInResult',
      identityProvider: providerMessage(providers, provider),
      allowed: includesAll(heldAt(signedIn, uid), needed),
    })
  }
  return results
}
