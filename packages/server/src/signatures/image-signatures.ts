import {
  type ImageSignatures,
  ImageSignaturesSchema,
  SignatureState as State,
} from '@berth/contract/gen/berth/registry/v1/signatures_pb.js'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { timestampOf } from '../api/messages.ts'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { createFairSemaphore } from '../runtime/fair-semaphore.ts'
import { inTransaction } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { hashInputs, readSignatureInputs, type SignatureInputs } from './signature-inputs.ts'
import type { VerifiedSignature } from './verification/verify-signature.ts'
import { type AppliedVerifier, readAppliedVerifiers, readTrust } from './verifiers/applied-verifiers.ts'

/**
 * The verified signatures of images. A result is stored with a hash of all that it depends on: a read compares the hash, so that a stored
 * result is never older than the signatures and the verifiers, whichever node or command changed them.
 */
export interface ImageSignatureReader {
  /** Verifies the signatures, unless the stored result is current. `image`: digest of an image in the repo. */
  read(repo: string, image: string): Promise<ImageSignatures>
}

/** Returns the current result without verifying anything; undefined if the signatures or verifiers changed since they were verified. */
export type ReadVerifiedSignatures = (repo: string, image: string) => Promise<VerifiedSignatures | undefined>
export type VerifiedSignatures = Pick<ImageSignatures, 'state' | 'signatures'>

export function createVerifiedSignatureReader(
  sources: Pick<Sources, 'db' | 'clock'>,
): ReadVerifiedSignatures {
  return async (repo, image) => {
    const { inputs, current } = await readCurrent(sources, repo, image)
    return inputs.manifests.length === 0 ? { state: State.UNSIGNED, signatures: [] } : current
  }
}

/** A check is shared by callers, so that it does not end with one of them. */
const neverAborted = new AbortController().signal

type Sources = Pick<Store, 'db' | 'clock'> & { readonly blobs: Pick<BlobStore, 'read'> }

export function createImageSignatureReader(sources: Sources): ImageSignatureReader {
  const { clock } = sources
  const checks = createFairSemaphore(limits.signatureChecksMax)
  const running = new Map<string, Promise<ImageSignatures>>()

  /** Callers who ask for the same result wait for one check. */
  const checkOnce = (key: string, check: () => Promise<ImageSignatures>): Promise<ImageSignatures> => {
    const known = running.get(key)
    if (known !== undefined) return known
    const promise = check().finally(() => running.delete(key))
    running.set(key, promise)
    return promise
  }

  return {
    async read(repo, image) {
      const { inputs, applied, hash, current } = await readCurrent(sources, repo, image)
      if (current !== undefined) return current
      return checkOnce(`${repo} ${image} ${hash}`, async () => {
        const release = await checks.acquire(neverAborted, rootOf(repo))
        try {
          const nowMs = clock()
          const { verified, truncated, isComplete } =
            inputs.manifests.length === 0
              ? unsigned
              : await verifyAll(sources, { repo, image }, { inputs, applied, nowMs })
          const result = create(ImageSignaturesSchema, {
            uid: repo,
            digest: image,
            state: stateOf(verified),
            signatures: verified.map(({ signature }) => signature),
            truncated: inputs.truncated || truncated,
            verifierCount: applied.length,
            checkTime: timestampOf(nowMs),
          })
          const ends = verified.flatMap(({ untilMs }) => (untilMs === undefined ? [] : [untilMs]))
          // An unsigned image needs no row: finding no signatures is as cheap as reading one.
          if (isComplete && result.state !== State.UNSIGNED)
            await writeStored(sources, result, {
              inputs: hash,
              untilMs: ends.length === 0 ? 0 : Math.min(...ends),
            })
          return result
        } finally {
          release()
        }
      })
    },
  }
}

interface Verified {
  readonly verified: readonly VerifiedSignature[]
  readonly truncated: boolean
  /** Whether the result can be stored. */
  readonly isComplete: boolean
}

const unsigned: Verified = { verified: [], truncated: false, isComplete: true }

async function verifyAll(
  sources: Sources,
  image: { readonly repo: string; readonly image: string },
  {
    inputs,
    applied,
    nowMs,
  }: {
    readonly inputs: SignatureInputs
    readonly applied: readonly AppliedVerifier[]
    readonly nowMs: number
  },
): Promise<Verified> {
  // Loaded with the first signature: the libraries have 160 modules.
  const [{ readSignatures }, { verifySignature }] = await Promise.all([
    import('./found-signatures.ts'),
    import('./verification/verify-signature.ts'),
  ])
  const verifiers = await readTrust(sources.db.kysely, rootOf(image.repo), applied)
  const { found, truncated, incomplete } = await readSignatures(sources, image, inputs.manifests)
  const verified: VerifiedSignature[] = []
  for (const one of found) verified.push(await verifySignature(one, verifiers, nowMs))
  return { verified, truncated, isComplete: !incomplete && verifiers.length === applied.length }
}

/** Reads what a result depends on, and the stored one if it is current. */
async function readCurrent(sources: Pick<Sources, 'db' | 'clock'>, repo: string, image: string) {
  const { db, clock } = sources
  const [inputs, applied, stored] = await Promise.all([
    readSignatureInputs(db, repo, image),
    readAppliedVerifiers(db.kysely, repo),
    readStored(sources, repo, image),
  ])
  const hash = hashInputs(inputs, applied)
  const isCurrent = stored?.inputs === hash && (stored.untilMs === 0 || stored.untilMs > clock())
  const current = isCurrent ? fromBinary(ImageSignaturesSchema, stored.content) : undefined
  return { inputs, applied, hash, current }
}

function stateOf(verified: readonly VerifiedSignature[]): State {
  const states = new Set(verified.map(({ signature }) => signature.state))
  if (states.size === 0) return State.UNSIGNED
  return [State.VERIFIED, State.UNTRUSTED].find((state) => states.has(state)) ?? State.INVALID
}

interface StoredResult {
  readonly inputs: string
  readonly untilMs: number
  readonly content: Uint8Array
}

async function readStored(
  { db }: Pick<Sources, 'db'>,
  repo: string,
  digest: string,
): Promise<StoredResult | undefined> {
  const row = await db.kysely
    .selectFrom('image_signatures')
    .select(['inputs', 'until_ms', 'content'])
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row && { inputs: row.inputs, untilMs: Number(row.until_ms), content: row.content }
}

function writeStored(
  { db }: Sources,
  result: ImageSignatures,
  { inputs, untilMs }: Omit<StoredResult, 'content'>,
): Promise<unknown> {
  const { uid: repo, digest } = result
  const changed = { inputs, until_ms: untilMs, content: toBinary(ImageSignaturesSchema, result) }
  return inTransaction(db, (tx) =>
    tx
      .insertInto('image_signatures')
      .values({ root: rootOf(repo), repo, digest, ...changed })
      .onConflict((conflict) => conflict.columns(['root', 'repo', 'digest']).doUpdateSet(changed))
      .execute(),
  )
}
