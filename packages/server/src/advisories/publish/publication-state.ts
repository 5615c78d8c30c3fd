import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { sql } from 'kysely'
import { descendantRange, pathOf, rootOf, type Uid } from '../../api/uid.ts'
import type { Reader } from '../../storage/db.ts'
import { parsePublication, type StoredPublication } from './stored-publication.ts'

/** What a group publishes, as it is now. */
export interface PublicationState {
  /** Its own setting. */
  readonly isPublic: boolean
  /** The highest group at or above it that publishes to everybody; undefined where none does, or nobody is let in. */
  readonly publicThrough: Uid | undefined
  readonly publication: StoredPublication
  /** When somebody changed that, or made the group. */
  readonly updatedMs: number
  /** Grows with every change of what is published. */
  readonly revision: number
  /** Together with the revision never the same twice. */
  readonly groups: number
  readonly changedMs: number
}

/**
 * Read with every request, so that a change is seen at once. Undefined when there is no such group. What lies below a group is
 * in its feeds, and what is known above it of the severity of vulnerabilities, too.
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
