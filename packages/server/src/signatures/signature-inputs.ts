import { createHash } from 'node:crypto'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { Db } from '../storage/db.ts'
import { runText, sqlText } from '../storage/sql-text.ts'
import type { AppliedVerifier } from './verifiers/applied-verifiers.ts'

/** What the result of an image depends on: the manifests with its signatures, and the verifiers. */

export interface SignatureManifest {
  readonly digest: string
  /** '' for a referrer. */
  readonly tag: string
  readonly artifactType: string
}

export interface SignatureInputs {
  /** The tagged one first, then the referrers, ordered by digest. */
  readonly manifests: readonly SignatureManifest[]
  /** Whether there are more. */
  readonly truncated: boolean
}

/** Artifact type of referrers with cosign's simple signing. */
export const COSIGN_ARTIFACT_TYPE = 'application/vnd.dev.cosign.artifact.sig.v1+json'
/** Artifact type of referrers with signatures of Notation. */
export const NOTATION_TYPE = 'application/vnd.cncf.notary.signature'
/** Artifact types and media types of Sigstore bundles, whose version follows. */
export const BUNDLE_TYPE_PREFIX = 'application/vnd.dev.sigstore.bundle'

interface InputRow {
  readonly digest: string
  readonly tag: string
  readonly artifact_type: string
}

/** Returns the manifests that can have signatures of an image, in one statement. */
export async function readSignatureInputs(db: Db, repo: string, image: string): Promise<SignatureInputs> {
  const sql = sqlText(db.engine)
  const max = limits.signatureManifestsMax
  const tag = `${image.replace(':', '-')}.sig`
  const root = sql.bind(rootOf(repo))
  const inRepo = sql.bind(repo)
  const text = `select digest, tag, artifact_type from (
      select m.digest, t.name as tag, m.artifact_type, 0 as place
      from tags t join manifests m on m.root = t.root and m.repo = t.parent and m.digest = t.digest
      where t.root = ${root} and t.parent = ${inRepo} and t.name = ${sql.bind(tag)}
    ) as tagged union all select digest, tag, artifact_type from (
      select m.digest, '' as tag, m.artifact_type, 1 as place from manifests m
      where m.root = ${sql.bind(rootOf(repo))} and m.repo = ${sql.bind(repo)} and m.subject = ${sql.bind(image)}
        and m.subject <> ''
        and (m.artifact_type in (${sql.bindAll([COSIGN_ARTIFACT_TYPE, NOTATION_TYPE])})
          or m.artifact_type like ${sql.bind(`${BUNDLE_TYPE_PREFIX}%`)})
      order by m.digest limit ${sql.bind(max + 1)}
    ) as referring`
  const rows = await runText<InputRow>(db, text, sql)
  const tagged = rows.filter((row) => row.tag !== '')
  const referring = rows
    .filter((row) => row.tag === '' && row.digest !== tagged[0]?.digest)
    .sort((a, b) => (a.digest < b.digest ? -1 : 1))
  const all = [...tagged, ...referring]
  return {
    manifests: all
      .slice(0, max)
      .map((row) => ({ digest: row.digest, tag: row.tag, artifactType: row.artifact_type })),
    truncated: all.length > max,
  }
}

/** Returns a hash of all that a result depends on, besides the time. */
export function hashInputs(
  { manifests, truncated }: SignatureInputs,
  verifiers: readonly AppliedVerifier[],
): string {
  const content = [
    FORMAT,
    manifests.map(({ digest, tag }) => [digest, tag]),
    truncated,
    verifiers.map(({ uid, updated_ms, name }) => [uid, Number(updated_ms), name]),
  ]
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** Changes with the rules of verification, so that results of a previous version are computed again. */
const FORMAT = 1
