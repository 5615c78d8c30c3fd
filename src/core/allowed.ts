import type { Capability } from '#gen/capabilities/capabilities_pb.js'
import type { Call, Caller } from './call.ts'
import { type CapabilitySet, everyCapability, includesAll, listOf, nameOf, setOf } from './capabilities.ts'
import { permissionDenied } from './errors.ts'
import type { Voucher } from './vouching.ts'

/**
 * What a caller may do, as values that only auth/authorize.ts can make. A handler that needs a permission takes one as an
 * argument, so that it cannot be reached without having asked.
 */

declare const proof: unique symbol

/** The caller holds every capability of the method at `scope`, the uid that the request names. */
export interface Allowed {
  readonly scope: string
  readonly [proof]: true
}

/** The groups at and below which the caller holds the method's capabilities; '' stands for the whole platform. */
export interface Visible {
  readonly scopes: readonly string[]
  readonly [proof]: true
}

/** Capabilities of one caller, as far as who vouched for it counts, after the token's own narrowing. */
export interface Grants {
  readonly voucher: Voucher
  /** Whether the caller may act on the person as a whole (core/vouching.ts). */
  readonly actsAsPerson: boolean
  /** What is held directly, by group; '' is the platform. */
  readonly holdings: ReadonlyMap<string, CapabilitySet>
  /** Everything held at the uid: bindings there and at every group above. */
  at(uid: string): CapabilitySet
  /** The groups that hold all of `capabilities`, none below another; [''] for a platform administrator. */
  holding(capabilities: CapabilitySet): readonly string[]
}

/** What authorize() found for one request. */
export interface Access {
  readonly caller: Caller
  readonly grants: Grants
  /** Present on scoped methods. */
  readonly allowed: Allowed | undefined
  /** Present on unscoped methods. */
  readonly visible: Visible | undefined
}

/** For auth/authorize.ts alone. */
export function proveAllowed(scope: string): Allowed {
  return { scope } as Allowed
}

/** For auth/authorize.ts alone. */
export function proveVisible(scopes: readonly string[]): Visible {
  return { scopes } as Visible
}

/** The proof that a scoped method's caller may do it. Fails on a method that the schema does not scope: a bug. */
export function allowed(call: Call): Allowed {
  const proven = call.access?.allowed
  if (proven === undefined) throw new Error(`${call.method.name} is not scoped`)
  return proven
}

/** What the caller of any method but an open one may do. */
export function accessOf(call: Call): Access {
  if (call.access === undefined) throw new Error(`${call.method.name} has no caller`)
  return call.access
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
export function requirePerson({ actsAsPerson }: Pick<Grants, 'actsAsPerson'>, to: string): void {
  if (actsAsPerson) return
  throw permissionDenied(
    `to ${to}, sign in with an account of this server, with a provider of its operator, or with the identity provider that registered you; this sign-in came through another one`,
  )
}

/** What an error calls a resource: its uid, for a caller who may see it, or else what every caller knows. */
export function nameFor(call: Call, uid: string | undefined, seenWith: Capability, known: string): string {
  return uid !== undefined && includesAll(accessOf(call).grants.at(uid), setOf([seenWith])) ? uid : known
}

const LACKING_NAMED_MAX = 5

/**
 * Throws code 7 unless the caller holds every one of `needed` at `scope`. Also the rule against escalation (R19): nobody hands
 * out what they do not hold there.
 */
export function requireCapabilities(
  grants: Grants,
  scope: string,
  needed: CapabilitySet,
  to = 'do this',
): void {
  const held = grants.at(scope)
  if (includesAll(held, needed)) return
  const where = scope === '' ? 'the platform' : scope
  throw permissionDenied(`to ${to} at ${where} you need ${named((needed & ~held) as CapabilitySet)}`, scope)
}

/**
 * Throws code 7 unless there is a group at which the caller holds every one of `needed`. A caller who holds them at any uid holds them
 * at a group of the holdings.
 */
export function requireAnywhere(grants: Grants, needed: CapabilitySet): void {
  for (const group of grants.holdings.keys()) if (includesAll(grants.at(group), needed)) return
  throw permissionDenied(
    `this requires ${named(needed)}, which you do not hold in any group. Ask an owner of your organization for a role that includes it.`,
  )
}

function named(lacking: CapabilitySet): string {
  const names = listOf(lacking).map(nameOf)
  const more = names.length > LACKING_NAMED_MAX ? ` and ${names.length - LACKING_NAMED_MAX} more` : ''
  return `${names.slice(0, LACKING_NAMED_MAX).join(', ')}${more}`
}
