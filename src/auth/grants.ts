import { LRUCache } from 'lru-cache'
import { OrgStatus } from '#gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import type { Grants } from '../core/allowed.ts'
import type { Caller } from '../core/call.ts'
import {
  type CapabilitySet,
  everyCapability,
  includesAll,
  intersect,
  noCapabilities,
  setOf,
  union,
} from '../core/capabilities.ts'
import { managedRoleByUid } from '../core/managed-roles.ts'
import { isWithin, pathOf, rootOf } from '../core/uid.ts'
import type { Db } from '../storage/db.ts'
import { runText, sqlText } from '../storage/sql-text.ts'

/**
 * What an identity may do, looked up when asked (R12): a binding, role or identity that was deleted a moment ago counts no
 * more, on any node. On SQLite the answer is remembered for as long as nothing has been written that could change it.
 */

const IDENTITIES_REMEMBERED_MAX = 10_000

/** Capabilities by the group they are held at; '' is the platform. */
type Holdings = ReadonlyMap<string, CapabilitySet>

interface BindingFact {
  /** Null on the row that says that the identity exists. */
  readonly scope: string | null
  readonly role_uid: string | null
  readonly capabilities: string | null
}

/**
 * One row per binding, and one without a scope that says that the identity exists. An organization that is suspended is closed to
 * its members: what is bound in it grants nothing.
 */
function bindingFacts(db: Db, identity: string): Promise<BindingFact[]> | BindingFact[] {
  const sql = sqlText(db.engine)
  const text = `
    select null as scope, null as role_uid, null as capabilities
      from identities where root = ${sql.bind(rootOf(identity))} and uid = ${sql.bind(identity)}
    union all select b.parent, b.role_uid, r.capabilities
      from role_bindings b left join roles r on r.root = substr(b.role_uid, 1, 40) and r.uid = b.role_uid
      where b.identity_uid = ${sql.bind(identity)}
        and coalesce((select o.status from groups o where o.root = b.root and o.uid = b.root), 0) <> ${OrgStatus.SUSPENDED}
    union all select '', role_uid, null from platform_bindings where identity_uid = ${sql.bind(identity)}`
  return runText(db, text, sql)
}

/** Reads what a caller may do; undefined when its identity does not exist (any more). */
export type ReadGrants = (caller: Caller) => Promise<Grants | undefined> | Grants | undefined

export function grantsReader(db: Db): ReadGrants {
  const remembered = new LRUCache<
    string,
    { version: number; grants: Grants & { readonly holdings: Holdings } }
  >({
    max: IDENTITIES_REMEMBERED_MAX,
  })

  const read = async (identity: string, version: number | undefined) => {
    const facts: readonly BindingFact[] = await bindingFacts(db, identity)
    if (!facts.some((fact) => fact.scope === null)) return undefined
    const holdings = new Map<string, CapabilitySet>()
    for (const { scope, role_uid, capabilities } of facts) {
      if (scope === null || role_uid === null) continue
      holdings.set(
        scope,
        union(holdings.get(scope) ?? noCapabilities, capabilitiesOf(scope, role_uid, capabilities)),
      )
    }
    const grants = { ...grantsOf(holdings), holdings }
    if (version !== undefined) remembered.set(identity, { version, grants })
    return grants
  }

  return (caller) => {
    // Read before the query: what is written meanwhile makes the next request ask again.
    const version = db.version('access')
    const known = version === undefined ? undefined : remembered.get(caller.identity)
    const narrowing = caller.scopes !== undefined || caller.capabilities !== undefined
    if (known !== undefined && known.version === version) {
      return narrowing ? narrow(known.grants, caller) : known.grants
    }
    return read(caller.identity, version).then((grants) =>
      grants !== undefined && narrowing ? narrow(grants, caller) : grants,
    )
  }
}

function capabilitiesOf(scope: string, roleUid: string, stored: string | null): CapabilitySet {
  // Whoever administers the platform may do anything on it, what no role of an organization can hold included.
  if (scope === '') return everyCapability
  const managed = managedRoleByUid.get(roleUid)
  if (managed !== undefined) return managed.capabilities
  return stored === null ? noCapabilities : setOf(JSON.parse(stored) as number[])
}

/** Pure: the questions that can be asked of holdings. */
function grantsOf(holdings: Holdings): Grants {
  const at = (uid: string): CapabilitySet => {
    let held = holdings.get('') ?? noCapabilities
    if (uid === '') return held
    for (const group of pathOf(uid)) {
      const here = holdings.get(group)
      if (here !== undefined) held = union(held, here)
    }
    return held
  }
  return {
    at,
    holding(capabilities) {
      const scopes = [...holdings.keys()].filter((group) => includesAll(at(group), capabilities))
      return scopes.filter((scope) => !scopes.some((other) => other !== scope && isWithin(scope, other)))
    },
  }
}

/**
 * What a narrowed token leaves. In each of the token's scopes that is what the identity holds there, inherited or direct,
 * and nothing anywhere else; of that, only the token's capabilities.
 */
function narrow({ at, holdings }: Grants & { readonly holdings: Holdings }, caller: Caller): Grants {
  const { scopes, capabilities } = caller
  const within: Holdings =
    scopes === undefined ? holdings : new Map(scopes.map((scope) => [scope, at(scope)] as const))
  if (capabilities === undefined) return grantsOf(within)
  return grantsOf(
    new Map([...within].map(([scope, held]) => [scope, intersect(held, capabilities)] as const)),
  )
}
