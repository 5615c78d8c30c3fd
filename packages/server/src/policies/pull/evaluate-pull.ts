import { Result } from '@berth/contract/gen/chainguard/platform/policies/v1/decisions_pb.js'
import { PolicyMode } from '@berth/contract/gen/chainguard/platform/policies/v1/modes_pb.js'
import { isWithin, parentOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { manifestKind, parseStoredManifest } from '../../registry/manifests/manifest-content.ts'
import { ociError } from '../../registry/oci/errors.ts'
import type { Pull, PullPolicies } from '../../registry/oci/pull-policies.ts'
import { subjectOfTag } from '../../registry/retention/evaluation.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import type { Store } from '../../storage/store.ts'
import type { FactName, Facts, ImageFacts, ReadFacts } from '../facts/image-facts.ts'
import type { BoundPolicies, BoundPolicy } from './bound-policies.ts'
import type { DecisionRecorder } from './decision-recorder.ts'
import { findOverrides } from './overrides.ts'

/** Evaluates pulls of manifests by the policies that are bound to the repo or to a group above it. */

export interface EvaluationOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly bound: BoundPolicies
  readonly readFacts: ReadFacts
  readonly decisions: DecisionRecorder
}

/** A pull that was allowed. */
interface Allowed {
  readonly revision: number
  readonly untilMs: number
  readonly warnings: readonly string[]
}

interface Verdict {
  readonly policy: BoundPolicy
  readonly result: Result
  /** Why it was denied or not evaluated; '' if it was allowed. */
  readonly reason: string
}

/**
 * Returns what evaluates pulls. Allowed pulls are remembered for a few seconds, so that a client that asks for a tag and then for its digest, and a
 * cluster that starts many copies of an image, cost one evaluation; a change of policies, bindings or overrides ends that. Denials are not
 * remembered: a signature that was pushed counts for the next pull.
 */
export function createPullPolicies({ store, bound, readFacts, decisions }: EvaluationOptions): PullPolicies {
  const { db, clock } = store
  const allowed = createGrowingCache<Allowed>(limits.policyVerdictsCachedMax)

  const evaluateAll = async (pull: Pull): Promise<readonly string[]> => {
    const policies = await bound.ofRepo(pull.repo, rootOf(pull.repo), pull.revision)
    const kind = policies.length === 0 ? 'artifact' : kindOf(pull)
    if (kind === 'artifact') return []
    const relevant = policies.filter(({ isForImages }) => kind === 'image' || !isForImages)
    if (relevant.length === 0) return []
    const names = [...new Set(relevant.flatMap(({ needs }) => needs))]
    const facts = names.length === 0 ? {} : await readFacts(pull, names)
    const now = clock()
    const verdicts = await withOverrides(
      pull,
      relevant.map((policy) => evaluateOne(policy, facts, now)),
    )
    for (const verdict of verdicts) decisions.record(toDecision(pull, verdict))
    const rejected = verdicts.filter(isRejected)
    const enforced = rejected.find(({ policy }) => policy.mode === PolicyMode.ENFORCED)
    if (enforced !== undefined) throw denied(pull, enforced)
    return rejected.map(
      ({ policy, reason }) => `policy ${policy.policy.name} (dry run) would deny this image: ${reason}`,
    )
  }

  /** Lets overridden digests pass. */
  const withOverrides = async (pull: Pull, verdicts: readonly Verdict[]): Promise<readonly Verdict[]> => {
    const rejected = verdicts.filter(isRejected)
    if (rejected.length === 0) return verdicts
    const uids = rejected.map(({ policy }) => policy.policy.uid)
    const overrides = await findOverrides(db, pull, uids)
    return verdicts.map((verdict) => {
      const override = isRejected(verdict) ? overrides.get(verdict.policy.policy.uid) : undefined
      return override === undefined
        ? verdict
        : { ...verdict, result: Result.ALLOWED, reason: `override ${override.uid}: ${override.reason}` }
    })
  }

  return {
    evaluate(pull) {
      const { repo, digest, tag, revision } = pull
      const key = `${repo} ${digest} ${tag}`
      const known = allowed.get(key)
      if (known !== undefined && known.revision === revision && known.untilMs > clock()) return known.warnings
      return evaluateAll(pull).then((warnings) => {
        allowed.set(key, { revision, untilMs: clock() + limits.policyVerdictMs, warnings })
        return warnings
      })
    },
  }
}

/**
 * Returns what a manifest is to policies. Artifacts pass: signatures, SBOMs and attestations, which verification needs, and the index of
 * referrers that clients without the referrers API read (`sha256-...`). Whatever has a layer of an image can run, so it is an image.
 */
function kindOf({ content, mediaType, artifactType, tag }: Pull): 'image' | 'index' | 'artifact' {
  const layers = parseStoredManifest(content)?.layers
  const kind = manifestKind({ mediaType, artifactType }, layers)
  if (kind === 'index') return subjectOfTag(tag) === undefined ? 'index' : 'artifact'
  const isRunnable = layers === undefined || layers.some((layer) => imageLayerPattern.test(layer.mediaType))
  return kind === 'image' || isRunnable ? 'image' : 'artifact'
}

const imageLayerPattern = /^application\/vnd\.(?:oci\.image\.layer|docker\.image\.rootfs)\./

function evaluateOne(policy: BoundPolicy, facts: Facts, nowMs: number): Verdict {
  const { needs, rule, parameters } = policy
  const unknown = needs.flatMap((name) => reasonUnknown(name, facts))
  if (unknown.length > 0) return { policy, result: Result.ERROR, reason: unknown.join('; ') }
  const known = Object.fromEntries(
    needs.map((name) => [name, valueFor(policy, name, facts)]),
  ) as Partial<ImageFacts>
  try {
    const reason = rule.evaluate(known, parameters, nowMs)
    return reason === undefined
      ? { policy, result: Result.ALLOWED, reason: '' }
      : { policy, result: Result.DENIED, reason }
  } catch (error) {
    return { policy, result: Result.ERROR, reason: (error as Error).message }
  }
}

/** Returns the value of a fact that is known. */
function valueFor({ parent }: BoundPolicy, name: FactName, facts: Facts): unknown {
  if (name === 'signers' && facts.signers !== undefined && 'value' in facts.signers)
    return facts.signers.value.filter(({ verifier }) => isWithin(parent, parentOf(verifier)))
  return (facts[name] as { readonly value: unknown }).value
}

function reasonUnknown(name: FactName, facts: Facts): string[] {
  const fact = facts[name]
  if (fact !== undefined && 'value' in fact) return []
  return [`${name} is not known: ${fact?.unknown ?? 'this server does not record it'}`]
}

/** Whether the policy would stop the pull. */
function isRejected({ policy, result }: Verdict): boolean {
  return result === Result.DENIED || (result === Result.ERROR && !policy.allowsUnknown)
}

function toDecision({ repo, digest }: Pull, { policy, result, reason }: Verdict) {
  const { uid, name } = policy.policy
  return { repo, digest, policy: uid, policy_name: name, mode: policy.mode, result, reason }
}

/** Says which policy, why, and what to do: clients print it. */
function denied({ repo, requestedName, digest }: Pull, { policy, result, reason }: Verdict) {
  const { uid, name } = policy.policy
  const why = result === Result.DENIED ? 'denies this image' : 'could not evaluate this image'
  return ociError(
    'DENIED',
    `policy ${name} ${why}: ${reason}. A user with policies.override.create can allow it: berth policies overrides create ${requestedName} --policy ${name} --digest ${digest} --reason TEXT`,
    { auditUid: repo, ociDetail: { policy: uid, policyName: name, digest, reason } },
  )
}
