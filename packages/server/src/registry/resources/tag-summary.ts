import type { Tag } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { sql } from 'kysely'
import { rootOf } from '../../api/uid.ts'
import type { Reader } from '../../storage/db.ts'
import { listedTagForms, type TagFormFilter } from './tag-names.ts'
import { toTag } from './tags.ts'

/** A summary of the tags of a repo. */
export interface TagSummary {
  readonly tags: number
  /** When a tag was last changed. */
  readonly updatedMs: number | undefined
  /** The tag named `latest`, otherwise the tag that was changed last. */
  readonly latest: Tag | undefined
  /** The longest name of the tags with the same digest as `latest`; '' if it has no digest. */
  readonly version: string
}

export async function summarizeTags(
  reader: Reader,
  repo: string,
  filter: TagFormFilter,
): Promise<TagSummary> {
  const forms = listedTagForms(filter)
  let listed = reader.selectFrom('tags').where('root', '=', rootOf(repo)).where('parent', '=', repo)
  if (forms !== undefined) listed = listed.where('forms', 'in', forms)
  const { tags, updatedMs } = await listed
    .select((row) => [row.fn.countAll().as('tags'), row.fn.max('updated_ms').as('updatedMs')])
    .executeTakeFirstOrThrow()
  const latest =
    (await listed.selectAll().where('name', '=', 'latest').executeTakeFirst()) ??
    (await listed
      .selectAll()
      // Not by its bare name: SQLite would look for the repo in the tags of the whole organization, in the order of an index.
      .orderBy(sql`+updated_ms`, 'desc')
      .orderBy('uid', 'desc')
      .limit(1)
      .executeTakeFirst())
  const longest =
    latest === undefined || latest.digest === ''
      ? undefined
      : await listed
          .select('name')
          .where('digest', '=', latest.digest)
          .orderBy((row) => row.fn('length', ['name']), 'desc')
          .orderBy('name', 'desc')
          .limit(1)
          .executeTakeFirst()
  return {
    tags: Number(tags),
    updatedMs: updatedMs === null ? undefined : Number(updatedMs),
    latest: latest && toTag(latest),
    version: longest?.name ?? '',
  }
}
