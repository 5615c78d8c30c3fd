import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
  everyCapability,
  includesAll,
  isInternalOnly,
  noCapabilities,
} from '@berth/contract/capabilities.ts'
import type { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { permissionDenied } from '../api/errors.ts'
import type { Call, Caller } from './call.ts'
import type { Voucher } from './vouching.ts'

/**
 * Proofs of authorization. Only the functions of the pipeline that check capabilities create them, and a handler takes one as an
 * argument: without it, it has no scope to work on.
 */

declare const brand: unique symbol

/** The caller holds every capability of the method at `scope`, the uid that the request names. */
export interface AuthorizedScope {
  readonly scope: string
  readonly [brand]: true
}

/** The groups in which, with their descendants, the caller holds the capabilities of the method; '' is the whole platform. */
export interface VisibleScopes {
  readonly scopes: readonly string[]
  readonly [brand]: true
}

/** The capabilities of one caller, after the rules about who vouched for it (vouching.ts) and the narrowing of its token. */
export interface Grants {
  readonly voucher: Voucher
  /** Whether the caller may act on the user as a whole (vouching.ts). */
  readonly hasUserAuthority: boolean
  /**
   * Capabilities by the group of their bindings; '' is the platform. Throws code 14 if those in some organization could not be read, since
   * its server in a distributed database does not respond. So do the following functions if they need these.
   */
  readonly capabilitiesByScope: ReadonlyMap<string, CapabilitySet>
  /** The groups of `capabilitiesByScope` that could be read. */
  readonly readableScopes: readonly string[]
  /** Returns all capabilities at a uid: of bindings there and at every group above. */
  at(uid: string): CapabilitySet
  /** Returns those of `at(uid)` that the caller can grant on: capabilities for the operator only with authority on the platform (R19). */
  grantableAt(uid: string): CapabilitySet
  /** Returns whether all of `capabilities` are held in one of `readableScopes`. */
  isHeldAnywhere(capabilities: CapabilitySet): boolean
  /** Returns the groups where all of `capabilities` are held, without descendants of others; [''] for a platform administrator. */
  scopesHolding(capabilities: CapabilitySet): readonly string[]
}

/** Reads what a caller may do; undefined if its identity does not exist, or its session has ended. */
export type ReadGrants = (caller: Caller) => Promise<Grants | undefined> | Grants | undefined

/** The proof that the caller of one request is authorized. */
export interface Authorization {
  readonly caller: Caller
  readonly grants: Grants
  /** Present on scoped methods. */
  readonly authorized: AuthorizedScope | undefined
  /** Present on unscoped methods. */
  readonly visible: VisibleScopes | undefined
}

/** Authorizes a caller at a scope. Throws the error of `denied` (code 7 by default) unless it holds every one of `needed` there. */
export function authorizeScope(
  caller: Caller,
  grants: Grants,
  scope: string,
  needed: CapabilitySet,
  denied?: (missing: CapabilitySet) => Error,
): Authorization {
  if (denied === undefined) requireCapabilities(grants, scope, needed)
  else {
    const held = grants.at(scope)
    if (!includesAll(held, needed)) throw denied((needed & ~held) as CapabilitySet)
  }
  return { caller, grants, authorized: { scope } as AuthorizedScope, visible: undefined }
}

/** Authorizes a caller for the scopes where it holds every one of `needed`; for none of them if nothing is needed. */
export function authorizeVisible(caller: Caller, grants: Grants, needed: CapabilitySet): Authorization {
  const visible = new ScopesHolding(grants, needed) as unknown as VisibleScopes
  return { caller, grants, authorized: undefined, visible }
}

/**
 * Finds the scopes when they are used: a method that names one group, such as CreateGroup, does not need the roles in all others. A class,
 * because an accessor in an object literal gives every object a hidden class of its own.
 */
class ScopesHolding {
  readonly #grants: Grants
  readonly #needed: CapabilitySet
  #found: readonly string[] | undefined

  constructor(grants: Grants, needed: CapabilitySet) {
    this.#grants = grants
    this.#needed = needed
  }

  get scopes(): readonly string[] {
    this.#found ??= this.#needed === noCapabilities ? [] : this.#grants.scopesHolding(this.#needed)
    return this.#found
  }
}

/**
 * Authorizes an operator: `needed` on the platform. Throws code 7 for a narrowed token, whatever it grants: a token that is given away must
 * not administer the server.
 */
export function authorizePlatform(caller: Caller, grants: Grants, needed: CapabilitySet): Authorization {
  if (isNarrowed(caller))
    throw permissionDenied(
      'a token with narrowed scopes or capabilities cannot use the operator API; sign in as an operator',
      '',
    )
  return authorizeScope(caller, grants, '', needed)
}

/** The scope of a group that publishes to anyone. For advisories/publish alone, which has read that it does. */
export function publishedScope(group: string): AuthorizedScope {
  return { scope: group } as AuthorizedScope
}

/** Returns the authorized scope of a scoped method. Throws on other methods: a bug. */
export function requireScope(call: Call): AuthorizedScope {
  const authorized = call.authorization?.authorized
  if (authorized === undefined) throw new Error(`${call.method.name} is not scoped`)
  return authorized
}

/** Returns the authorization of a call. Throws on open methods: a bug. */
export function authorizationOf(call: Call): Authorization {
  if (call.authorization === undefined) throw new Error(`${call.method.name} has no caller`)
  return call.authorization
}

/** Whether the caller holds every capability on the platform, and its token does not narrow them. */
export function isPlatformAdministrator(grants: Grants): boolean {
  return includesAll(grants.at(''), everyCapability)
}

/** Whether a token grants less than all that its identity may do. */
export function isNarrowed({ scopes, capabilities }: Caller): boolean {
  return scopes !== undefined || capabilities !== undefined
}

/** Throws code 7 for a caller who may not act on the user as a whole. `action` completes "Permission denied: to". */
export function requireUserAuthority(
  { hasUserAuthority }: Pick<Grants, 'hasUserAuthority'>,
  action: string,
): void {
  if (hasUserAuthority) return
  throw permissionDenied(
    `to ${action}, sign in with an account of this server, with a provider of its operator, or with the identity provider that registered you; this sign-in came through another one`,
  )
}

/** Returns what an error calls a resource: its uid for a caller who may see it, `fallback` for others. */
export function describeResource(
  call: Call,
  uid: string | undefined,
  viewCapability: Capability,
  fallback: string,
): string {
  return uid !== undefined &&
    includesAll(authorizationOf(call).grants.at(uid), capabilitySetOf([viewCapability]))
    ? uid
    : fallback
}

const MISSING_NAMED_MAX = 5

/** Throws code 7 unless the caller holds every one of `needed` at `scope`. */
export function requireCapabilities(
  grants: Grants,
  scope: string,
  needed: CapabilitySet,
  action = 'do this',
): void {
  const held = grants.at(scope)
  if (includesAll(held, needed)) return
  const where = scope === '' ? 'the platform' : scope
  const missing = (needed & ~held) as CapabilitySet
  throw permissionDenied(
    `to ${action} at ${where} you need ${formatMissing(missing)}. ${roleHint(scope, missing)}`,
    scope,
  )
}

/**
 * Throws code 7 unless the caller can grant every one of `needed` at `scope`. The rule against escalation (R19): a caller grants only what
 * it holds there, and what is for the operator only if it is one.
 */
export function requireGrantable(grants: Grants, scope: string, needed: CapabilitySet, action: string): void {
  requireCapabilities(grants, scope, needed, action)
  const missing = (needed & ~grants.grantableAt(scope)) as CapabilitySet
  if (missing === noCapabilities) return
  throw permissionDenied(
    `to ${action} at ${scope} you need ${formatMissing(missing)} on the platform. ${roleHint('', missing)}`,
    scope,
  )
}

/**
 * Throws code 7 unless the caller holds every one of `needed` in some group. A caller who holds them at any uid holds them at a group of
 * `capabilitiesByScope`.
 */
export function requireCapabilitiesAnywhere(grants: Grants, needed: CapabilitySet): void {
  if (grants.isHeldAnywhere(needed)) return
  // Throws if another group could hold them.
  grants.scopesHolding(needed)
  throw permissionDenied(
    `this requires ${formatMissing(needed)}, which you do not hold in any group. Ask an owner of your organization for a role that includes it.`,
  )
}

/** What a caller can do who lacks capabilities at a scope. */
export function roleHint(scope: string, missing: CapabilitySet = noCapabilities): string {
  const isOfOperator = scope === '' || capabilitiesIn(missing).some(isInternalOnly)
  const who = isOfOperator ? 'the operator of this server' : 'an owner of the group'
  return `Ask ${who} for a role that includes it.`
}

function formatMissing(missing: CapabilitySet): string {
  const names = capabilitiesIn(missing).map(capabilityName)
  const more = names.length > MISSING_NAMED_MAX ? ` and ${names.length - MISSING_NAMED_MAX} more` : ''
  return `${names.slice(0, MISSING_NAMED_MAX).join(', ')}${more}`
}
