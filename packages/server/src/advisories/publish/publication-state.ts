import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { sql } from 'kysely'
import { descendantRange, pathOf, rootOf, type Uid } from '../../api/uid.ts'
import type { Reader } from '../../storage/db.ts'
import { parsePublication, type StoredPublication } from './stored-publication.ts'

/** What a group currently publishes. */
export interface PublicationState {
  /** Its own setting. */
  readonly isPublic: boolean
  /** The topmost group, from this one up, that publishes publicly; undefined if none does, or if the organization is suspended. */
  readonly publicThrough: Uid | undefined
  readonly publication: StoredPublication
  /** When the setting last changed, or the group was created. */
  readonly updatedMs: number
  /** Increases with every change of published content. */
  readonly revision: number
  /** Unique in combination with the revision. */
  readonly groups: number
  readonly changedMs: number
}

/**
 * Read with every request, so that changes apply immediately. Undefined if the group does not exist. The feeds of a group include its
 * descendants, and severities from groups above it.
 */
export async function readPublicationState(
  reader: Reader,
  group: Uid,
): Promise<PublicationState | undefined> {
  const root = rootOf(group)
  const path = pathOf(group)
  const { from, to } = descendantRange(group)
  const known = await reader
    .selectFrom('groups')
    .select(['uid', 'status', 'created_ms'])
    .where('root', '=', root)
    .where('uid', 'in', [...new Set([root, group])])
    .execute()
  const groupRow = known.find(({ uid }) => uid === group)
  if (groupRow === undefined) return undefined
  const above = await reader
    .selectFrom('advisory_groups')
    .selectAll()
    .where('root', '=', root)
    .where('uid', 'in', path)
    .execute()
  const below = await reader
    .selectFrom('advisory_groups')
    .select([
      sql<number>`count(*)`.as('groups'),
      sql<number>`cast(coalesce(sum(revision), 0) as bigint)`.as('revision'),
      sql<number>`coalesce(max(changed_ms), 0)`.as('changed_ms'),
    ])
    .where('root', '=', root)
    .where('uid', '>', from)
    .where('uid', '<', to)
    .executeTakeFirstOrThrow()
  const own = above.find(({ uid }) => uid === group)
  const publication = parsePublication(own?.publication ?? '')
  const isSuspended = known.some(({ uid, status }) => uid === root && status === OrgStatus.SUSPENDED)
  return {
    isPublic: own?.public === 1,
    publicThrough: isSuspended
      ? undefined
      : path.find((uid) => above.some((row) => row.uid === uid && row.public === 1)),
    publication,
    updatedMs: publication.updatedMs || groupRow.created_ms,
    revision: above.reduce((sum, row) => sum + row.revision, Number(below.revision)),
    groups: above.length + Number(below.groups),
    changedMs: Math.max(0, Number(below.changed_ms), ...above.map((row) => row.changed_ms)),
  }
}
