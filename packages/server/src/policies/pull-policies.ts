import type { BlobStore } from '../registry/blobs/blob-store.ts'
import type { PullPolicies } from '../registry/oci/pull-policies.ts'
import type { Store } from '../storage/store.ts'
import { contentsFacts } from './facts/contents-facts.ts'
import { createFactReader, type FactProvider } from './facts/image-facts.ts'
import { contentFacts, nameFacts } from './facts/registry-facts.ts'
import { createBoundPolicies } from './pull/bound-policies.ts'
import type { DecisionRecorder } from './pull/decision-recorder.ts'
import { createPullPolicies } from './pull/evaluate-pull.ts'

export interface PullPoliciesOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  readonly blobs: Pick<BlobStore, 'read'>
  readonly decisions: DecisionRecorder
  /** Facts of rooms that policies do not know. */
  readonly providers?: readonly FactProvider[]
}

/** Returns what the registry asks before it sends a manifest. */
export function pullPolicies({ store, blobs, decisions, providers = [] }: PullPoliciesOptions): PullPolicies {
  const { db } = store
  return createPullPolicies({
    store,
    decisions,
    bound: createBoundPolicies(db),
    readFacts: createFactReader([nameFacts(db), contentFacts(db, blobs), contentsFacts(db), ...providers]),
  })
}
