import {
  FindingSummariesService,
  FindingSummaryHistoryEntrySchema,
  FindingSummarySchema,
  ListFindingSummaryHistoryResponseSchema,
  ListRepoFindingSummariesResponseSchema,
  ListTagFindingHistoryResponseSchema,
  ListTagFindingSummariesResponseSchema,
  TagFindingHistoryEntrySchema,
  TagFindingSummarySchema,
} from '@berth/contract/gen/berth/vulnerabilities/v1/finding_summaries_pb.js'
import { create } from '@bufbuild/protobuf'
import { type FieldViolation, invalidArgument, notFound } from '../../api/errors.ts'
import { checkLine, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { effectivePageSize, requirePageSize } from '../../api/page-tokens.ts'
import { parseUid, rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { requireRepo } from '../../registry/resources/parent-repo.ts'
import { TAG_TYPE } from '../../registry/resources/tags.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { findUid, readResource } from '../../storage/resource-rows.ts'
import type {
  ScopeFindingsRow,
  SeverityColumns,
  Tables,
  TagFindingsRow,
} from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { countPoints, type HistoryTable, readPoints } from '../history/history-rows.ts'
import { readFindingSummary, readRepoPage, readTagPage } from '../storage/finding-summaries.ts'
import {
  affecting,
  countFindings,
  readFindings,
  readImageContents,
  totalOf,
} from '../storage/image-findings.ts'
import { areFindingsCurrent, isMatchingPending } from '../storage/pending-work.ts'
import { toFinding, toFindingCount } from './finding-messages.ts'

/** Every result of a page counts the vulnerabilities of images. */
const PAGE_SIZE = 20
const PAGE_SIZE_MAX = limits.findingSummariesMax
const summariesSize = (requested: number): number =>
  requested === 0 ? PAGE_SIZE : Math.min(requested, PAGE_SIZE_MAX)

/** Findings of one vulnerability that a tag lists. */
const TAG_FINDINGS_MAX = 20

interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

function checkCount(values: readonly string[], field: string): FieldViolation | undefined {
  if (values.length <= limits.findingSummariesMax) return undefined
  return { field, description: `must be at most ${limits.findingSummariesMax} (findingSummariesMax)` }
}

/** Counts of the vulnerabilities of groups, repos and tags, and their history. */
export function findingSummariesService({ db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>) {
  /** Reads a page by a key of its rows. */
  async function page<Row, Message>(
    call: Call,
    { pageSize, pageToken }: PageRequest,
    filter: string,
    {
      sizeOf = summariesSize,
      read,
      keyOf,
      toMessage,
    }: {
      readonly sizeOf?: (requested: number) => number
      readonly read: (page: { after: string; size: number }) => Promise<readonly Row[]>
      readonly keyOf: (row: Row) => string
      readonly toMessage: (row: Row) => Promise<Message>
    },
  ): Promise<{ readonly items: Message[]; readonly nextPageToken: string }> {
    requirePageSize(pageSize)
    const { scope } = requireScope(call)
    const listKey = JSON.stringify([...callerBinding(call), scope, filter])
    const [after = ''] = (readCursor(pageTokens, pageToken, listKey)?.after ?? []) as readonly string[]
    const size = sizeOf(pageSize)
    const rows = await read({ after, size: size + 1 })
    const items: Message[] = []
    for (const row of rows.slice(0, size)) items.push(await toMessage(row))
    const last = rows[size - 1]
    return {
      items,
      nextPageToken:
        rows.length <= size || last === undefined
          ? ''
          : pageTokens.issue({ after: [keyOf(last)], skip: 0, skipped: 0 }, listKey),
    }
  }

  /** Reads a page of the history of a tag, repo or group. */
  async function historyPage<T extends HistoryTable, Message>(
    call: Call,
    request: PageRequest,
    table: T,
    uid: string,
    toMessage: (row: Tables[T]) => Message,
  ) {
    const { items, nextPageToken } = await page(call, request, JSON.stringify([table, uid]), {
      sizeOf: effectivePageSize,
      read: ({ after, size }) =>
        readPoints(db, table, uid, {
          beforeMs: after === '' ? Number.MAX_SAFE_INTEGER : Number(after),
          size,
        }),
      keyOf: ({ time_ms }) => String(time_ms),
      toMessage: async (row) => toMessage(row),
    })
    return { items, nextPageToken, totalCount: BigInt(await countPoints(db, table, uid)) }
  }

  async function summarize(uid: string) {
    const isPending = await isMatchingPending(db, rootOf(uid))
    const { counts, exploited, images, unreadImages, isMatched } = await readFindingSummary(db, uid)
    return create(FindingSummarySchema, {
      uid,
      counts: counts.map(toFindingCount),
      imageCount: BigInt(images),
      unreadImageCount: BigInt(unreadImages),
      matched: isMatched && !isPending,
      knownExploitedCount: totalOf(affecting(exploited)),
    })
  }

  return implement(FindingSummariesService, {
    async getFindingSummary(_request, call) {
      return summarize(requireScope(call).scope)
    },

    async listRepoFindingSummaries(request, call) {
      const { scope } = requireScope(call)
      const { repoUids } = request
      requireValid(
        checkCount(repoUids, 'repo_uids'),
        ...repoUids.map((uid, at) =>
          parseUid(uid) === undefined
            ? { field: `repo_uids[${at}]`, description: 'must be a uid' }
            : undefined,
        ),
      )
      const { items, nextPageToken } = await page(call, request, JSON.stringify(repoUids), {
        read: (rows) => readRepoPage(db, scope, repoUids, rows),
        keyOf: (uid) => uid,
        toMessage: summarize,
      })
      return create(ListRepoFindingSummariesResponseSchema, { findingSummaries: items, nextPageToken })
    },

    async listTagFindingSummaries(request, call) {
      const { scope: repo } = requireScope(call)
      const { vulnerability, tags } = request
      requireValid(
        checkLine(vulnerability, 'vulnerability'),
        checkCount(tags, 'tags'),
        ...tags.map((tag, at) => checkLine(tag, `tags[${at}]`)),
      )
      await requireRepo(db, repo)
      const root = rootOf(repo)
      const { items, nextPageToken } = await page(call, request, JSON.stringify([vulnerability, tags]), {
        read: (rows) => readTagPage(db, repo, tags, rows),
        keyOf: ({ name }) => name,
        async toMessage({ name, digest, since_ms }) {
          const { state = 'none', ids = [] } = (await readImageContents(db, repo, digest)) ?? {}
          const isMatched = await areFindingsCurrent(db, root, { state, ids })
          const filters = { vulnerability }
          const [counts, findings] = await Promise.all([
            countFindings(db, root, ids, filters),
            vulnerability === '' ? [] : readFindings(db, root, ids, filters, { size: TAG_FINDINGS_MAX }),
          ])
          return create(TagFindingSummarySchema, {
            tag: name,
            digest,
            updateTime: timestampOf(Number(since_ms)),
            contentsState: state,
            matched: isMatched,
            counts: counts.map(toFindingCount),
            findings: findings.map(toFinding),
          })
        },
      })
      return create(ListTagFindingSummariesResponseSchema, { tagFindingSummaries: items, nextPageToken })
    },

    async listTagFindingHistory(request, call) {
      const { scope: repo } = requireScope(call)
      const { tag: name } = request
      if (name === '') throw invalidArgument('tag', 'must be set')
      requireValid(checkLine(name, 'tag'))
      await requireRepo(db, repo)
      const tag = await findUid(db, 'tags', { root: rootOf(repo), parent: repo, name })
      if (tag === undefined) throw notFound(TAG_TYPE, `${repo}:${name}`)
      const { items, ...rest } = await historyPage(call, request, 'tag_findings', tag, toTagEntry)
      return create(ListTagFindingHistoryResponseSchema, { tagFindingHistoryEntries: items, ...rest })
    },

    async listFindingSummaryHistory(request, call) {
      const { scope } = requireScope(call)
      if ((await readResource(db, 'groups', scope)) === undefined) await requireRepo(db, scope)
      const { items, ...rest } = await historyPage(call, request, 'scope_findings', scope, toScopeEntry)
      return create(ListFindingSummaryHistoryResponseSchema, { findingSummaryHistoryEntries: items, ...rest })
    },
  })
}

function toTagEntry(row: TagFindingsRow) {
  return create(TagFindingHistoryEntrySchema, {
    time: timestampOf(Number(row.time_ms)),
    digest: row.digest,
    contentsState: row.state,
    ...severityFields(row),
  })
}

function toScopeEntry(row: ScopeFindingsRow) {
  return create(FindingSummaryHistoryEntrySchema, {
    time: timestampOf(Number(row.time_ms)),
    imageCount: BigInt(row.images),
    unreadImageCount: BigInt(row.unread_images),
    ...severityFields(row),
  })
}

function severityFields(row: SeverityColumns) {
  return {
    critical: BigInt(row.critical),
    high: BigInt(row.high),
    medium: BigInt(row.medium),
    low: BigInt(row.low),
    none: BigInt(row.none),
    unknown: BigInt(row.unknown),
  }
}
