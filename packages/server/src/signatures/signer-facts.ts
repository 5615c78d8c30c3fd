import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { FactProvider, SignerFact } from '../policies/facts/image-facts.ts'
import { insertRows } from '../storage/bulk-rows.ts'
import { inTransaction } from '../storage/db.ts'
import { preparedRead } from '../storage/prepared.ts'
import type { Store } from '../storage/store.ts'
import { createVerifiedSignatureReader, type VerifiedSignatures } from './image-signatures.ts'

/**
 * The signers of an image, for policies: those of stored results only, because a pull verifies nothing. A result that is not current is
 * unknown, never an earlier one, and its image is queued.
 */

/** Certificates name any identity; one that looks like a verifier must not pass for it. */
const VERIFIER_PREFIX = 'verifier:'

const indexesOf = preparedRead((db, { root, repo, digest }: { root: string; repo: string; digest: string }) =>
  db
    .selectFrom('manifest_references')
    .select('manifest')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .where('kind', '=', 'manifest')
    .limit(limits.signedIndexesMax + 1),
)

export interface SignerFactsOptions {
  readonly store: Pick<Store, 'db' | 'clock'>
  /** Receives failures to queue an image: the policy is evaluated without its signers. */
  readonly onError: (error: unknown) => void
}

export function signerFacts({ store, onError }: SignerFactsOptions): FactProvider {
  const { db } = store
  const readVerified = createVerifiedSignatureReader(store)

  const queue = (repo: string, digests: readonly string[]) =>
    inTransaction(db, (tx) =>
      insertRows(
        db,
        tx,
        'signature_changes',
        digests.toSorted().map((digest) => ({ root: rootOf(repo), scope: repo, digest, revision: 1 })),
        { ifAbsent: true },
      ),
    )

  return {
    names: ['signers'],
    async read({ repo, digest }) {
      const indexes = await indexesOf(db, { root: rootOf(repo), repo, digest })
      if (indexes.length > limits.signedIndexesMax)
        return { signers: { unknown: `the image is in more than ${limits.signedIndexesMax} indexes` } }
      const images = [digest, ...indexes.map(({ manifest }) => manifest)]
      const results = await Promise.all(images.map((image) => readVerified(repo, image)))
      const outdated = images.filter((_, at) => results[at] === undefined)
      if (outdated.length > 0) {
        await queue(repo, outdated).catch(onError)
        return { signers: { unknown: 'its signatures are not verified yet; try again in a few seconds' } }
      }
      return { signers: { value: results.flatMap((result) => signersOf(result)) } }
    },
  }
}

function signersOf(result: VerifiedSignatures | undefined): SignerFact[] {
  const verifications = (result?.signatures ?? []).flatMap((signature) => signature.verifications)
  return verifications.flatMap(({ verifier, verifierName, identity }) => {
    const names = [`${VERIFIER_PREFIX}${verifierName}`, `${VERIFIER_PREFIX}${verifier}`]
    if (identity !== '' && !identity.startsWith(VERIFIER_PREFIX)) names.unshift(identity)
    return names.map((name) => ({ name, verifier }))
  })
}
