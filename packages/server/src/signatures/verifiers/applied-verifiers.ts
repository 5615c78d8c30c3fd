import { SignatureVerifierSchema } from '@berth/contract/gen/berth/registry/v1/signature_verifiers_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { LRUCache } from 'lru-cache'
import { parentOf, pathOf, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Reader } from '../../storage/db.ts'
import type { SignatureVerifierRow } from '../../storage/schema/tables.ts'
import { parseTrust, type Trust } from './trusted-verifier.ts'

/** The verifiers that apply to a repo. */

export type AppliedVerifier = Pick<SignatureVerifierRow, 'uid' | 'name' | 'updated_ms'>

/**
 * Lists the verifiers of the groups above a repo, without their keys. Those of the outermost group come first, so that callers who manage
 * a folder cannot displace those of the organization.
 */
export async function readAppliedVerifiers(
  reader: Reader,
  repo: string,
): Promise<readonly AppliedVerifier[]> {
  const group = parentOf(repo)
  if (group === '') return []
  const rows = await reader
    .selectFrom('signature_verifiers')
    .select(['uid', 'name', 'updated_ms'])
    .where('root', '=', rootOf(repo))
    .where('parent', 'in', pathOf(group))
    .execute()
  const outermostFirst = (a: AppliedVerifier, b: AppliedVerifier) =>
    a.uid.length - b.uid.length || (a.uid < b.uid ? -1 : 1)
  return rows.sort(outermostFirst).slice(0, limits.appliedVerifiersMax)
}

export interface TrustedVerifier extends AppliedVerifier {
  readonly trust: Trust
}

const parsed = new LRUCache<string, Trust>({ max: limits.parsedVerifiersMax })
const keyOf = ({ uid, updated_ms }: AppliedVerifier) => `${uid} ${updated_ms}`

/** Returns verifiers with what they trust; those that were deleted meanwhile are left out. */
export async function readTrust(
  reader: Reader,
  root: string,
  applied: readonly AppliedVerifier[],
): Promise<readonly TrustedVerifier[]> {
  const missing = applied.filter((verifier) => !parsed.has(keyOf(verifier))).map(({ uid }) => uid)
  const rows =
    missing.length === 0
      ? []
      : await reader
          .selectFrom('signature_verifiers')
          .select(['uid', 'name', 'updated_ms', 'method'])
          .where('root', '=', root)
          .where('uid', 'in', missing)
          .execute()
  for (const row of rows) {
    const result = parseTrust(fromBinary(SignatureVerifierSchema, row.method))
    if ('trust' in result) parsed.set(keyOf(row), result.trust)
  }
  return applied.flatMap((verifier) => {
    const trust = parsed.get(keyOf(verifier))
    return trust === undefined ? [] : [{ ...verifier, trust }]
  })
}
