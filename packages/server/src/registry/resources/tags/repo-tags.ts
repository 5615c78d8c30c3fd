import {
  type ListRepoTagsRequest,
  ListRepoTagsResponseSchema,
  RepoTagsService,
} from '@berth/contract/gen/berth/registry/v1/repo_tags_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound } from '../../../api/errors.ts'
import { type OrderKey, parseOrderBy } from '../../../api/order-by.ts'
import { effectivePageSize } from '../../../api/page-tokens.ts'
import { rootOf } from '../../../api/uid.ts'
import { authorizationOf, requireScope } from '../../../pipeline/authorization.ts'
import { implement } from '../../../pipeline/call.ts'
import type { Db } from '../../../storage/db.ts'
import { callerBinding, readCursor } from '../../../storage/list/list.ts'
import { afterCursor, orderText } from '../../../storage/list/list-sql.ts'
import type { TagRow } from '../../../storage/schema/tables.ts'
import { runLongText, type SqlText, sqlText } from '../../../storage/sql-text.ts'
import type { Store } from '../../../storage/store.ts'
import { requireRepo } from '../parent-repo.ts'
import { listedTagForms } from '../tag-names.ts'
import { requireTag, TAG_TYPE } from '../tags.ts'
import { tagDeletionHandlers } from './tag-deletion.ts'
import { readTagDetails } from './tag-details.ts'

/** The tags of one repo as its page shows them: with what they point to. */

const sortFields = {
  name: 'name',
  updated_at: 'updated_ms',
  update_time: 'updated_ms',
  updateTime: 'updated_ms',
}

export function repoTagsService(store: Store) {
  const { db, pageTokens } = store

  return implement(RepoTagsService, {
    ...tagDeletionHandlers(store),

    async listRepoTags(request, call) {
      const { scope } = requireScope(call)
      const { uid: _, pageSize, pageToken, ...query } = request
      await requireRepo(db, scope)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const order = parseOrderBy(query.orderBy.trim() === '' ? 'name' : query.orderBy, sortFields)
      if ('problem' in order) throw invalidArgument('order_by', order.problem)
      const binding = JSON.stringify([...callerBinding(call), scope, { ...query, $unknown: undefined }])
      const size = effectivePageSize(pageSize)
      const after = readCursor(pageTokens, pageToken, binding)?.after
      const rows = await readTagRows(db, scope, request, { order, after, limit: size + 1 })
      const page = rows.slice(0, size)
      const last = rows.length > size ? page.at(-1) : undefined
      return create(ListRepoTagsResponseSchema, {
        tags: await readTagDetails(db, authorizationOf(call).grants, scope, page),
        totalCount: BigInt(await countTagRows(db, scope, request)),
        nextPageToken:
          last === undefined
            ? ''
            : pageTokens.issue(
                {
                  after: order.map(({ column }) => last[column as 'name' | 'updated_ms' | 'uid']),
                  skip: 0,
                  skipped: 0,
                },
                binding,
              ),
      })
    },

    async getTagDetails(_request, call) {
      const row = await requireTag(db, requireScope(call).scope)
      const [details] = await readTagDetails(db, authorizationOf(call).grants, row.parent, [row])
      if (details === undefined) throw notFound(TAG_TYPE, row.uid)
      return details
    },
  })
}

type TagFilter = Pick<
  ListRepoTagsRequest,
  'namePrefix' | 'digest' | 'includeReferrers' | 'includeDates' | 'includeEpochs'
>

/** Greater than all characters of tag names. */
const AFTER_NAMES = '~'

function conditionText(sql: SqlText, repo: string, filter: TagFilter): string {
  const { namePrefix, digest } = filter
  const conditions = [`root = ${sql.bind(rootOf(repo))}`, `parent = ${sql.bind(repo)}`]
  if (namePrefix !== '')
    conditions.push(`name >= ${sql.bind(namePrefix)}`, `name < ${sql.bind(`${namePrefix}${AFTER_NAMES}`)}`)
  if (digest !== '') conditions.push(`digest = ${sql.bind(digest)}`)
  const forms = listedTagForms(filter)
  if (forms !== undefined) conditions.push(`forms in (${sql.bindAll(forms)})`)
  return conditions.join(' and ')
}

interface RowWindow {
  readonly order: readonly OrderKey[]
  readonly after: readonly (string | number)[] | undefined
  readonly limit: number
}

async function readTagRows(
  db: Db,
  repo: string,
  filter: TagFilter,
  { order, after, limit }: RowWindow,
): Promise<TagRow[]> {
  const sql = sqlText(db.engine)
  const condition = conditionText(sql, repo, filter)
  const rest = after === undefined ? '' : ` and ${afterCursor(sql, order, after)}`
  const text = `select * from tags where ${condition}${rest}
    order by ${orderText(order, { oneRoot: true, sorted: false })} limit ${sql.bind(limit)}`
  const rows = await runLongText<TagRow>(db, text, sql)
  return rows.map((row) => ({ ...row, updated_ms: Number(row.updated_ms) }))
}

async function countTagRows(db: Db, repo: string, filter: TagFilter): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from tags where ${conditionText(sql, repo, filter)}`
  const [row] = await runLongText<{ n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}
