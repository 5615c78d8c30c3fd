import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  ListTagHistoryResponseSchema,
  TagHistoryEntrySchema,
  TagHistoryService,
} from '@berth/contract/gen/berth/registry/v1/tag_history_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create } from '@bufbuild/protobuf'
import { failedPrecondition, invalidArgument } from '../../../api/errors.ts'
import { requireValid } from '../../../api/fields.ts'
import { timestampOf } from '../../../api/messages.ts'
import { effectivePageSize } from '../../../api/page-tokens.ts'
import type { Uid } from '../../../api/uid.ts'
import { authorizationOf, requireScope } from '../../../pipeline/authorization.ts'
import { implement } from '../../../pipeline/call.ts'
import { mutate } from '../../../storage/changes/mutation.ts'
import type { Tx } from '../../../storage/db.ts'
import { callerBinding, readCursor } from '../../../storage/list/list.ts'
import { lockForChange } from '../../../storage/resource-rows.ts'
import { readReachableRows } from '../../../storage/rows-by-uid.ts'
import type { TagRow } from '../../../storage/schema/tables.ts'
import type { Store } from '../../../storage/store.ts'
import { existingManifests } from '../../retention/evaluation.ts'
import { listHistory } from '../tag-history.ts'
import { checkDigest } from '../tag-names.ts'
import { lockRepoOfTag, requireTag, tagDefinition, toTag, writeTag } from '../tags.ts'

/** Shows what a tag has pointed to, and moves it back. The same capability that shows who has roles shows who moved it. */

const bindingsCapability = capabilitySetOf([Capability.CAP_IAM_ROLE_BINDINGS_LIST])

export function tagHistoryService(store: Store) {
  const { db, pageTokens } = store

  return implement(TagHistoryService, {
    async listTagHistory({ pageSize, pageToken }, call) {
      const { scope } = requireScope(call)
      const { parent } = await requireTag(db, scope)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const binding = JSON.stringify([...callerBinding(call), scope])
      const size = effectivePageSize(pageSize)
      const cursor = readCursor(pageTokens, pageToken, binding)
      const beforeMs = Number(cursor?.after[0] ?? Number.MAX_SAFE_INTEGER)
      const rows = await listHistory(db.kysely, scope, { fromMs: 0, beforeMs, max: size + 1 })
      const page = rows.slice(0, size)
      const last = rows.length > size ? page.at(-1) : undefined
      const digests = [...new Set(page.map(({ digest }) => digest))]
      const existing = await existingManifests(db.kysely, parent, digests)
      const showsActors = includesAll(authorizationOf(call).grants.at(scope), bindingsCapability)
      const actors = showsActors ? page.map(({ actor }) => actor).filter((actor) => actor !== '') : []
      const { rows: identities } = await readReachableRows(db, 'identities', ['name'], actors)
      return create(ListTagHistoryResponseSchema, {
        entries: page.map(({ digest, since_ms, actor }) =>
          create(TagHistoryEntrySchema, {
            digest,
            updateTime: timestampOf(Number(since_ms)),
            available: existing.has(digest),
            ...(showsActors && { actor, actorName: identities.get(actor)?.name ?? '' }),
          }),
        ),
        nextPageToken:
          last === undefined
            ? ''
            : pageTokens.issue({ after: [Number(last.since_ms)], skip: 0, skipped: 0 }, binding),
      })
    },

    moveTag({ digest }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        await lockRepoOfTag(db, tx, scope)
        const { row } = await lockForChange(db, tx, call, tagDefinition, scope)
        requireValid(checkDigest(digest))
        if (digest !== row.digest) await requireManifest(tx, row, digest)
        const { deprecated, bundles } = row
        const { row: after, unchanged } = await writeTag(store, tx, {
          repo: row.parent as Uid,
          name: row.name,
          current: row,
          wanted: { digest, deprecated, bundles },
          actor: authorizationOf(call).caller.identity,
        })
        return { uid: scope, response: toTag(after), unchanged }
      })
    },
  })
}

/** Throws code 9 for a manifest that the repo of a tag does not have. */
async function requireManifest(tx: Tx, { parent, uid }: TagRow, digest: string): Promise<void> {
  if ((await existingManifests(tx, parent, [digest])).has(digest)) return
  throw failedPrecondition(
    'MANIFEST_NOT_IN_REPO',
    `the repo has no manifest ${digest}: it was deleted. Push the image again to use it.`,
    uid,
  )
}
