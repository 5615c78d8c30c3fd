import { PolicyMode } from '@berth/contract/gen/chainguard/platform/policies/v1/modes_pb.js'
import { LRUCache } from 'lru-cache'
import { isWithin } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import { compileExpression, isRule } from '../expressions/compiled.ts'
import { type FactName, factSubjects } from '../facts/image-facts.ts'
import { allowUnknown, type Parameters, withDefaults } from '../rules/parameters.ts'
import type { PolicyRule } from '../rules/policy-rule.ts'
import { systemPolicyByUid } from '../rules/system-policies.ts'

/** The bindings of organizations, ready to use. */
export interface BoundPolicy {
  /** uid of the group or repo. */
  readonly parent: string
  readonly policy: { readonly uid: string; readonly name: string }
  readonly mode: PolicyMode
  readonly rule: PolicyRule
  /** With the defaults. */
  readonly parameters: Parameters
  readonly needs: readonly FactName[]
  /** Whether the policy evaluates the images of an index, and not the index: it needs a fact in which they differ. */
  readonly isForImages: boolean
  readonly allowsUnknown: boolean
}

export interface BoundPolicies {
  /** Returns the bindings that apply to a repo, of its organization at a revision. */
  ofRepo(repo: string, root: string, revision: number): Promise<readonly BoundPolicy[]>
}

interface Cached {
  readonly revision: number
  readonly bindings: Promise<readonly BoundPolicy[]>
}

/**
 * Caches the bindings of an organization by its revision, which every change increments and every pull reads: no node uses bindings that were
 * replaced. The bindings are read after the revision, so they are at least as new.
 */
export function createBoundPolicies(db: Db): BoundPolicies {
  const cache = new LRUCache<string, Cached>({ max: limits.policyOrganizationsCachedMax })
  const read = (root: string, revision: number) => {
    const known = cache.get(root)
    if (known?.revision === revision) return known.bindings
    const bindings = readBindings(db, root)
    const entry = { revision, bindings }
    cache.set(root, entry)
    bindings.catch(() => {
      if (cache.get(root) === entry) cache.delete(root)
    })
    return bindings
  }
  return {
    async ofRepo(repo, root, revision) {
      const bindings = await read(root, revision)
      return bindings.filter(({ parent }) => isWithin(repo, parent))
    },
  }
}

async function readBindings({ kysely }: Db, root: string): Promise<readonly BoundPolicy[]> {
  const bindings = await kysely
    .selectFrom('policy_bindings')
    .select(['parent', 'policy', 'mode', 'parameters'])
    .where('root', '=', root)
    .orderBy('uid')
    .execute()
  const custom = bindings.map(({ policy }) => policy).filter((uid) => !systemPolicyByUid.has(uid))
  const rows =
    custom.length === 0
      ? []
      : await kysely
          .selectFrom('policies')
          .select(['uid', 'name', 'expression'])
          .where('root', '=', root)
          .where('uid', 'in', [...new Set(custom)])
          .execute()
  const byUid = new Map(rows.map((row) => [row.uid, row]))
  const bound = bindings.map(async ({ parent, policy: uid, mode, parameters }) => {
    const system = systemPolicyByUid.get(uid)
    const row = byUid.get(uid)
    const rule = system ?? (await ruleOf(row?.expression))
    const values = withDefaults([...rule.parameters, allowUnknown], JSON.parse(parameters) as Parameters)
    const needs = rule.needs(values)
    return {
      parent,
      policy: { uid, name: system?.name ?? row?.name ?? uid },
      mode: Number(mode) === PolicyMode.ENFORCED ? PolicyMode.ENFORCED : PolicyMode.DRY_RUN,
      rule,
      parameters: values,
      needs,
      isForImages: needs.some((name) => factSubjects[name] === 'image'),
      allowsUnknown: values['allow_unknown'] === true,
    }
  })
  return Promise.all(bound)
}

/** An expression was valid when it was stored; a later version of the server may reject it. */
async function ruleOf(expression: string | undefined): Promise<PolicyRule> {
  const compiled = expression === undefined ? [] : await compileExpression(expression)
  if (isRule(compiled)) return compiled
  const [problem] = compiled
  return {
    parameters: [],
    needs: () => [],
    evaluate() {
      throw new Error(`the policy is not valid: ${problem?.message ?? 'it does not exist'}`)
    },
  }
}
