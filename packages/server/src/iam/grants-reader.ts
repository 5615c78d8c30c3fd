import {
  type CapabilitySet,
  capabilitiesIn,
  capabilitySetOf,
  everyCapability,
  includesAll,
  intersect,
  isGrantable,
  noCapabilities,
  operatorCapabilities,
  union,
  without,
} from '@berth/contract/capabilities.ts'
import { type ApiError, unavailable } from '../api/errors.ts'
import { rootOf } from '../api/uid.ts'
import { type Grants, isNarrowed, type ReadGrants } from '../pipeline/authorization.ts'
import type { Caller } from '../pipeline/call.ts'
import { hasUserAuthority, isBindingEffective, type Voucher } from '../pipeline/vouching.ts'
import { createGrowingCache } from '../runtime/caches/growing-cache.ts'
import type { Store } from '../storage/store.ts'
import { readVoucher } from '../tokens/sessions/valid-sessions.ts'
import { type GrantRow, type GrantsStore, readGrantRows, type UnreadRow } from './access/grant-rows.ts'
import { capabilitiesAt, inheritedCapabilities, topmostScopes } from './access/inherited-capabilities.ts'
import { managedRoleByUid, operatorRole, withCatalogOfOwner } from './managed-roles.ts'

/**
 * Reads what an identity may do, when it is asked for (R12): a deleted binding, role, identity or session has no effect on any node from
 * then on. On SQLite the result is cached until a write that could change it.
 */

const CACHED_IDENTITIES_MAX = 10_000
const UNREAD_RETRY_MS = 1000

type CapabilitiesByScope = Grants['capabilitiesByScope']

/** Rules of this installation. */
export interface GrantRules {
  /** Owners hold the capabilities of `catalog.admin`. */
  readonly ownersManageCatalog: boolean
}

interface CachedGrants {
  readonly version: number
  readonly grants: OwnGrants
  /** When the session expires. */
  readonly expiresAtMs: number
}

export function createGrantsReader(store: GrantsStore, rules: GrantRules): ReadGrants {
  const { db, clock } = store
  const cache = createGrowingCache<CachedGrants>(CACHED_IDENTITIES_MAX)

  const read = async (caller: Caller, key: string, version: number | undefined) => {
    const facts: readonly GrantRow[] = await readGrantRows(store, caller)
    const found = findCaller(facts, caller)
    if (found === undefined) return undefined
    const grants = identityGrants(facts, found, rules)
    const { expiresAtMs: untilMs } = found
    if (version !== undefined) cache.set(key, { version, grants, expiresAtMs: untilMs })
    return grants
  }

  return (caller) => {
    const { identity, session } = caller
    // Read before the query: a write in the meantime makes the next request query again.
    const version = db.version('access')
    const key = session === undefined ? identity : `${identity} ${session}`
    const known = version === undefined ? undefined : cache.get(key)
    if (
      known !== undefined &&
      known.version === version &&
      (session === undefined || known.expiresAtMs > clock())
    ) {
      return narrowToToken(known.grants, caller)
    }
    return read(caller, key, version).then((grants) => grants && narrowToToken(grants, caller))
  }
}

/** Returns what a caller may do as a transaction sees it, including its own changes. Nothing is cached. */
export function grantsIn(store: GrantsStore, rules: GrantRules): Store['grantsIn'] {
  return async (tx, caller) => {
    const facts = await readGrantRows(store, caller, { tx })
    const found = findCaller(facts, caller)
    return found && narrowToToken(identityGrants(facts, found, rules), caller)
  }
}

/** A sign-in to explain. */
export interface AssumedSignIn {
  readonly identity: string
  readonly voucher: Exclude<Voucher, { kind: 'account' | 'operator' }>
  /** Whether roles at a scope count; '' is the platform. */
  readonly counts: (scope: string) => boolean
  /** Where mappings of external groups count. */
  readonly mappedScopes: readonly string[]
}

/** Returns what an identity may do after a sign-in, by the rules for callers; undefined if the identity does not exist. */
export async function grantsOfSignIn(
  store: GrantsStore,
  rules: GrantRules,
  { identity, voucher, counts, mappedScopes: scopes }: AssumedSignIn,
): Promise<Grants | undefined> {
  const assumed =
    voucher.kind === 'organization' && scopes.length > 0 ? { provider: voucher.provider, scopes } : undefined
  const facts = await readGrantRows(store, { identity, session: undefined }, { assumed })
  const found = findCaller(facts, { session: undefined })
  if (found === undefined) return undefined
  const counted = facts.filter(({ scope }) => scope === null || counts(scope))
  return identityGrants(counted, { ...found, voucher }, rules)
}

interface FoundCaller extends Pick<Grants, 'voucher' | 'hasUserAuthority'> {
  /** When the session expires. */
  readonly expiresAtMs: number
}

/** Undefined when the identity does not exist, its session has ended, or no voucher is recorded. */
function findCaller(
  rows: readonly GrantRow[],
  { session }: Pick<Caller, 'session'>,
): FoundCaller | undefined {
  const fact = rows.find((one) => one.scope === null)
  if (fact === undefined) return undefined
  const { vouched_by, provider_uid, vouched_email, expires_ms, registered_through } = fact
  const voucher: Voucher | undefined =
    session === undefined
      ? { kind: 'direct' }
      : readVoucher({
          vouched_by: vouched_by ?? '',
          provider_uid: provider_uid ?? '',
          vouched_email: vouched_email ?? '',
        })
  return (
    voucher && {
      voucher,
      hasUserAuthority: hasUserAuthority(voucher, registered_through),
      expiresAtMs: Number(expires_ms ?? Number.POSITIVE_INFINITY),
    }
  )
}

/** What the identity of a caller may do, before its token narrows it. */
function identityGrants(facts: readonly GrantRow[], found: FoundCaller, rules: GrantRules): OwnGrants {
  const rows = facts.filter(isRead)
  const held = sumCapabilities(rows, found.voucher, rules)
  // Other roles add nothing to all capabilities.
  const isUnneeded = held.get('') === everyCapability
  const unread = new Map(
    facts.flatMap((fact) => ('unread' in fact && !isUnneeded ? [[fact.scope, fact.unread] as const] : [])),
  )
  const forOperator = rules.ownersManageCatalog ? everyCapability : (held.get('') ?? noCapabilities)
  return grantsOf(held, { ...found, unread, grantable: union(forOperator, grantableByOwners) })
}

function isRead(fact: GrantRow): fact is Exclude<GrantRow, UnreadRow> {
  return !('unread' in fact)
}

/** The capabilities that a role of an organization can have. */
const grantableByOwners = capabilitySetOf(capabilitiesIn(everyCapability).filter(isGrantable))

/** Grants, with the capabilities that its identity can grant on wherever it holds them; a narrower token does not change these. */
interface OwnGrants extends Grants {
  readonly grantable: CapabilitySet
  /** `capabilitiesByScope` as far as it could be read. */
  readonly held: CapabilitiesByScope
  /** Organizations whose roles could not be read, with the error. */
  readonly unread: ReadonlyMap<string, unknown>
}

function sumCapabilities(
  rows: readonly Exclude<GrantRow, UnreadRow>[],
  voucher: Voucher,
  { ownersManageCatalog }: GrantRules,
): CapabilitiesByScope {
  const byScope = new Map<string, CapabilitySet>()
  for (const fact of rows) {
    if (fact.scope === null) continue
    const { scope, role_uid, capabilities, accepted_through: acceptedThrough } = fact
    if (!isBindingEffective(voucher, { scope, acceptedThrough })) continue
    byScope.set(
      scope,
      union(byScope.get(scope) ?? noCapabilities, capabilitiesOf(scope, role_uid, capabilities)),
    )
  }
  return ownersManageCatalog ? withCatalogOfOwners(byScope) : byScope
}

/** Adds the catalog to each scope where the caller holds all that an owner does, also by roles above it. */
function withCatalogOfOwners(byScope: CapabilitiesByScope): CapabilitiesByScope {
  return new Map(
    [...inheritedCapabilities(byScope)].map(([scope, held]) => [scope, withCatalogOfOwner(held)]),
  )
}

function narrowToToken(grants: OwnGrants, caller: Caller): Grants {
  return isNarrowed(caller) ? narrow(grants, caller) : grants
}

/** Returns the capabilities of a role; `stored`: those in its row. */
export function capabilitiesOf(scope: string, roleUid: string, stored: string | null): CapabilitySet {
  // Administrators of the platform may do anything on it, including what no role of an organization can hold.
  if (scope === '') return roleUid === operatorRole.uid ? operatorRole.capabilities : everyCapability
  const managed = managedRoleByUid.get(roleUid)
  const held =
    managed?.capabilities ??
    (stored === null ? noCapabilities : capabilitySetOf(JSON.parse(stored) as number[]))
  // Whatever binding or role the database has: groups do not grant the operator API.
  return without(held, operatorCapabilities)
}

type HolderFacts = Pick<OwnGrants, 'voucher' | 'hasUserAuthority' | 'grantable' | 'unread'>

/** Answers questions about holdings. Pure. */
function grantsOf(
  capabilitiesByScope: CapabilitiesByScope,
  { voucher, hasUserAuthority: actsAsPerson, grantable, unread }: HolderFacts,
): OwnGrants {
  const readableScopes = [...capabilitiesByScope.keys()]
  let known: CapabilitiesByScope | undefined
  const inherited = () => {
    known ??= inheritedCapabilities(capabilitiesByScope)
    return known
  }
  const requireRead = (organization: string) => {
    if (unread.has(organization)) throw unreadError(organization, unread.get(organization))
  }
  const requireAll = () => {
    for (const organization of unread.keys()) requireRead(organization)
  }
  const at = (uid: string): CapabilitySet => {
    const held = capabilitiesAt(capabilitiesByScope, uid)
    if (unread.size > 0) requireRead(rootOf(uid))
    return held
  }
  return {
    voucher,
    hasUserAuthority: actsAsPerson,
    get capabilitiesByScope() {
      requireAll()
      return capabilitiesByScope
    },
    held: capabilitiesByScope,
    readableScopes,
    at,
    grantable,
    grantableAt: (uid) => intersect(at(uid), grantable),
    isHeldAnywhere(capabilities) {
      const isHeldIn = (byScope: CapabilitiesByScope) => {
        for (const held of byScope.values()) if (includesAll(held, capabilities)) return true
        return false
      }
      // Most callers hold them by one role, and computing what thousands of groups inherit takes milliseconds.
      return isHeldIn(capabilitiesByScope) || isHeldIn(inherited())
    },
    scopesHolding(capabilities) {
      const scopes = topmostScopes(inherited(), capabilities)
      if (!scopes.includes('')) requireAll()
      return scopes
    },
    unread,
  }
}

function unreadError(organization: string, cause: unknown): ApiError {
  return unavailable(
    `the database server of organization ${organization} does not respond, so your roles there are unknown`,
    UNREAD_RETRY_MS,
    cause,
  )
}

/**
 * Returns what a narrowed token leaves: in each of the token's scopes, what the identity holds there, inherited or direct, limited to the
 * token's capabilities; nothing anywhere else.
 */
function narrow(grants: OwnGrants, caller: Caller): Grants {
  const { scopes, capabilities } = caller
  const { at, held: holdings, voucher, hasUserAuthority, grantable } = grants
  const roots = new Set<string>(scopes?.map(rootOf))
  const unread =
    scopes === undefined
      ? grants.unread
      : new Map([...grants.unread].filter(([organization]) => roots.has(organization)))
  const facts: HolderFacts = { voucher, hasUserAuthority, grantable, unread }
  const within: CapabilitiesByScope =
    scopes === undefined
      ? holdings
      : new Map(
          scopes.filter((scope) => !unread.has(rootOf(scope))).map((scope) => [scope, at(scope)] as const),
        )
  if (capabilities === undefined) return grantsOf(within, facts)
  return grantsOf(
    new Map([...within].map(([scope, held]) => [scope, intersect(held, capabilities)] as const)),
    facts,
  )
}
