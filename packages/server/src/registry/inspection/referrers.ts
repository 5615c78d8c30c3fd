import {
  ListReferrersResponseSchema,
  ReferrerSchema,
  ReferrersService,
} from '@berth/contract/gen/berth/registry/v1/referrers_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'
import { checkType } from '../resources/manifests.ts'
import { requireRepo } from '../resources/parent-repo.ts'
import { checkDigest } from '../resources/tag-names.ts'
import { type ReferrerCursor, readReferrerPage, toAnnotations } from './manifest-referrers.ts'

/** Referrers of manifests: signatures, SBOMs, attestations. */

export function referrersService({ db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>) {
  return implement(ReferrersService, {
    async listReferrers({ digest, artifactType, pageSize, pageToken }, call) {
      const { scope: repo } = requireScope(call)
      await requireRepo(db, repo)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      requireValid(checkDigest(digest), checkType(artifactType, 'artifactType'))
      const listKey = JSON.stringify([...callerBinding(call), repo, digest, artifactType])
      const after = readCursor(pageTokens, pageToken, listKey)?.after as ReferrerCursor | undefined
      const { rows, next } = await readReferrerPage(db, {
        repo,
        subject: digest,
        artifactType,
        after,
        size: effectivePageSize(pageSize),
      })
      return create(ListReferrersResponseSchema, {
        referrers: rows.map((row) =>
          create(ReferrerSchema, {
            digest: row.digest,
            mediaType: row.media_type,
            artifactType: row.artifact_type,
            size: BigInt(row.size),
            pushTime: timestampOf(Number(row.created_ms)),
            annotations: toAnnotations(row.annotations),
            tag: row.tag,
            referrerCount: Number(row.referrers),
          }),
        ),
        nextPageToken:
          next === undefined ? '' : pageTokens.issue({ after: next, skip: 0, skipped: 0 }, listKey),
      })
    },
  })
}
