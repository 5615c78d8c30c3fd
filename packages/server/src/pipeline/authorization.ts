import {
  type CapabilitySet,
  capabilitiesIn,
  capabilityName,
  capabilitySetOf,
  everyCapability,
  includesAll,
} from '@berth/contract/capabilities.ts'
import type { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { permissionDenied } from '../api/errors.ts'
import type { Call, Caller } from './call.ts'
import type { Voucher } from './vouching.ts'

/**
 * What a caller may do, as values that only auth/authorize.ts can make. A handler that needs a permission takes one as an
 * argument, so that it cannot be reached without having asked.
 */

declare const brand: unique symbol

/** The caller holds every capability of the method at `scope`, the uid that the request names. */
export interface AuthorizedScope {
  readonly scope: string
  readonly [brand]: true
}

/** The groups at and below which the caller holds the method's capabilities; '' stands for the whole platform. */
export interface VisibleScopes {
  readonly scopes: readonly string[]
  readonly [brand]: true
}

/** Capabilities of one caller, as far as who vouched for it counts, after the token's own narrowing. */
export interface Grants {
  readonly voucher: Voucher
  /** Whether the caller may act on the person as a whole (core/vouching.ts). */
  readonly hasUserAuthority: boolean
  /** What is held directly, by group; '' is the platform. */
  readonly capabilitiesByScope: ReadonlyMap<string, CapabilitySet>
  /** Everything held at the uid: bindings there and at every group above. */
  at(uid: string): CapabilitySet
  /** The groups that hold all of `capabilities`, none below another; [''] for a platform administrator. */
  scopesHolding(capabilities: CapabilitySet): readonly string[]
}

/** Reads what a caller may do; undefined if its identity does not exist, or its session has ended. */
export type ReadGrants = (caller: Caller) => Promise<Grants | undefined> | Grants | undefined

/** What authorize() found for one request. */
export interface Authorization {
  readonly caller: Caller
  readonly grants: Grants
  /** Present on scoped methods. */
  readonly authorized: AuthorizedScope | undefined
  /** Present on unscoped methods. */
  readonly visible: VisibleScopes | undefined
}

/** For auth/authorize.ts alone. */
export function newAuthorizedScope(scope: string): AuthorizedScope {
  return { scope } as AuthorizedScope
}

/** For auth/authorize.ts alone. */
export function newVisibleScopes(scopes: readonly string[]): VisibleScopes {
  return { scopes } as VisibleScopes
}

/** The proof that a scoped method's caller may do it. Fails on a method that the schema does not scope: a bug. */
export function requireScope(call: Call): AuthorizedScope {
  const authorized = call.authorization?.authorized
  if (authorized === undefined) throw new Error(`${call.method.name} is not scoped`)
  return authorized
}

/** What the caller of any method but an open one may do. */
export function authorizationOf(call: Call): Authorization {
  if (call.authorization === undefined) throw new Error(`${call.method.name} has no caller`)
  return call.authorization
}

/** Whether the caller's rights come from above every organization, and its token does not narrow them away. */
export function isPlatformAdministrator(grants: Grants): boolean {
  return includesAll(grants.at(''), everyCapability)
}

/** Whether a token holds for less than all that its identity may do. */
export function isNarrowed({ scopes, capabilities }: Caller): boolean {
  return scopes !== undefined || capabilities !== undefined
}

/** Throws code 7 for a caller who may not act on the person as a whole. `to` completes "Permission denied: to". */
export function requireUserAuthority(
  { hasUserAuthority: actsAsPerson }: Pick<Grants, 'hasUserAuthority'>,
  action: string,
): void {
  if (actsAsPerson) return
  throw permissionDenied(
    `to ${action}, sign in with an account of this server, with a provider of its operator, or with the identity provider that registered you; this sign-in came through another one`,
  )
}

/** What an error calls a resource: its uid, for a caller who may see it, or else what every caller knows. */
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

/**
 * Throws code 7 unless the caller holds every one of `needed` at `scope`. Also the rule against escalation (R19): nobody hands
 * out what they do not hold there.
 */
export function requireCapabilities(
  grants: Grants,
  scope: string,
  needed: CapabilitySet,
  action = 'do this',
): void {
  const held = grants.at(scope)
  if (includesAll(held, needed)) return
  const where = scope === '' ? 'the platform' : scope
  throw permissionDenied(
    `to ${action} at ${where} you need ${formatMissing((needed & ~held) as CapabilitySet)}`,
    scope,
  )
}

/**
 * Throws code 7 unless there is a group at which the caller holds every one of `needed`. A caller who holds them at any uid holds them
 * at a group of the holdings.
 */
export function requireCapabilitiesAnywhere(grants: Grants, needed: CapabilitySet): void {
  for (const group of grants.capabilitiesByScope.keys()) if (includesAll(grants.at(group), needed)) return
  throw permissionDenied(
    `this requires ${formatMissing(needed)}, which you do not hold in any group. Ask an owner of your organization for a role that includes it.`,
  )
}

function formatMissing(missing: CapabilitySet): string {
  const names = capabilitiesIn(missing).map(capabilityName)
  const more = names.length > MISSING_NAMED_MAX ? ` and ${names.length - MISSING_NAMED_MAX} more` : ''
  return `${names.slice(0, MISSING_NAMED_MAX).join(', ')}${more}`
}
