import { SignaturesService } from '@berth/contract/gen/berth/registry/v1/signatures_pb.js'
import { notFound } from '../api/errors.ts'
import { requireValid } from '../api/fields.ts'
import { rootOf } from '../api/uid.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import { MANIFEST_TYPE, requireRepo } from '../registry/resources/parent-repo.ts'
import { checkDigest, checkTagName } from '../registry/resources/tag-names.ts'
import type { Db } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { ImageSignatureReader } from './image-signatures.ts'

/** The API of verified signatures. */

export function signaturesService({ db }: Pick<Store, 'db'>, signatures: ImageSignatureReader) {
  return implement(SignaturesService, {
    async getImageSignatures({ reference }, call) {
      const { scope: repo } = requireScope(call)
      await requireRepo(db, repo)
      const isDigest = reference.includes(':')
      requireValid(isDigest ? checkDigest(reference, 'reference') : checkTagName(reference, 'reference'))
      const digest = isDigest ? reference : await digestOfTag(db, repo, reference)
      await requireManifest(db, repo, digest)
      return signatures.read(repo, digest)
    },
  })
}

async function digestOfTag({ kysely }: Db, repo: string, name: string): Promise<string> {
  const row = await kysely
    .selectFrom('tags')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', '=', name)
    .executeTakeFirst()
  if (row === undefined || row.digest === '') throw notFound('registry.chainguard.dev/Tag', name)
  return row.digest
}

async function requireManifest({ kysely }: Db, repo: string, digest: string): Promise<void> {
  const row = await kysely
    .selectFrom('manifests')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  if (row === undefined) throw notFound(MANIFEST_TYPE, digest)
}
