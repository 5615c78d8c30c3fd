import { formats } from '@berth/advisory-formats/advisory-record.ts'
import {
  type AdvisoryFeed,
  type AdvisoryFeedRun,
  AdvisoryFeedRunSchema,
  AdvisoryFeedSchema,
  AdvisoryFeedsService,
  ImportCountsSchema,
  ListAdvisoryFeedRunsResponseSchema,
  type ListAdvisoryFeedsRequest,
  AdvisoryFeed_State as State,
} from '@berth/contract/gen/berth/vulnerabilities/v1/feeds_pb.js'
import { create, fromBinary } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, failedPrecondition } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { applyUpdate, durationMs, timestampOf } from '../../api/messages.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { lockGroup } from '../../iam/groups/parent-group.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { listJobRuns, readRunCounts, runFields } from '../../storage/jobs/job-run-lists.ts'
import { deleteJobRuns } from '../../storage/jobs/job-runs.ts'
import { insertResource, lockForChange, nextUpdateMs, updateResource } from '../../storage/resource-rows.ts'
import { resourceType } from '../../storage/resources/declared-resource.ts'
import {
  definitionOf,
  type ResourceDeclaration,
  resourceMethods,
} from '../../storage/resources/resource-methods.ts'
import type { AdvisoryFeedRow, JobRunRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { urlProblem } from '../feeds/download.ts'
import { feedJob, NO_LEASE } from '../feeds/feed-job.ts'

/** The API of feeds. feed-scheduler.ts runs them. */

const TYPE = resourceType(AdvisoryFeedSchema)

/** `plainHttp`: whether http URLs are allowed, because private networks are configured. */
export function advisoryFeedsService(store: Store, { plainHttp }: { readonly plainHttp: boolean }) {
  const { db, clock, uids } = store
  const toFeed = (row: AdvisoryFeedRow) => toAdvisoryFeed(row, clock())
  const feeds: ResourceDeclaration<'advisory_feeds', typeof AdvisoryFeedSchema, ListAdvisoryFeedsRequest> = {
    table: 'advisory_feeds',
    schema: AdvisoryFeedSchema,
    toMessages: (rows) => rows.map(toFeed),
    sortFields: { url: 'url' },
    filter: ({ url }) => ({ equals: { url } }),
    beforeDelete: (tx, { uid }) => deleteJobRuns(tx, uid),
  }
  const kind = definitionOf(feeds)

  return implement(AdvisoryFeedsService, {
    ...resourceMethods(store, AdvisoryFeedsService, feeds),

    async createAdvisoryFeed({ advisoryFeed = create(AdvisoryFeedSchema) }, call) {
      const group = requireScope(call).scope as Uid
      const feed = applyUpdate(AdvisoryFeedSchema, create(AdvisoryFeedSchema), advisoryFeed, ['*'])
      requireValid(checkUrl(feed.url, plainHttp), ...checkSettings(feed))
      return mutate(
        store,
        call,
        async (tx) => {
          await lockGroup(db, tx, group)
          const now = clock()
          const row: AdvisoryFeedRow = {
            root: rootOf(group),
            uid: uids.child(group),
            parent: group,
            url: feed.url,
            ...settingsOf(feed),
            due_ms: now,
            begun_ms: 0,
            succeeded_ms: 0,
            failures: 0,
            error: '',
            etag: '',
            last_modified: '',
            counts: new Uint8Array(0),
            requested_by: authorizationOf(call).caller.identity,
            ...NO_LEASE,
            created_ms: now,
            updated_ms: now,
          }
          await insertResource(db, tx, 'advisory_feeds', row)
          return { uid: row.uid, response: toFeed(row) }
        },
        () => alreadyExists(TYPE, group, 'the group already has a feed with this URL'),
      )
    },

    async updateAdvisoryFeed({ advisoryFeed: patch = create(AdvisoryFeedSchema), updateMask }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row, current } = await lockForChange(db, tx, call, kind, scope)
        const requested = applyUpdate(AdvisoryFeedSchema, current, patch, updateMask?.paths)
        const isUrlChanged = requested.url !== '' && requested.url !== row.url
        requireValid(
          isUrlChanged ? { field: 'url', description: 'cannot be changed: create another feed' } : undefined,
          ...checkSettings(requested),
        )
        const settings = settingsOf(requested)
        const isSame = (Object.keys(settings) as (keyof typeof settings)[]).every(
          (name) => settings[name] === row[name],
        )
        if (isSame) return { uid: scope, response: current, unchanged: true }
        const changed = {
          ...settings,
          ...dependentChanges(row, settings, clock()),
          updated_ms: nextUpdateMs(store, row),
        }
        await updateResource(tx, 'advisory_feeds', scope, changed)
        return { uid: scope, response: toFeed({ ...row, ...changed }) }
      })
    },

    async syncAdvisoryFeed({ full }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const { row } = await lockForChange(db, tx, call, kind, scope)
        if (row.paused === 1) throw failedPrecondition('FEED_PAUSED', `feed ${scope} is paused`, scope)
        // Different from the due time of a run in progress, which is then followed by another one.
        const due = {
          due_ms: Math.min(clock(), row.due_ms - 1),
          requested_by: authorizationOf(call).caller.identity,
        }
        const changed = full ? { ...due, etag: '', last_modified: '' } : due
        await updateResource(tx, 'advisory_feeds', scope, changed)
        return { uid: scope, response: toFeed({ ...row, ...changed }) }
      })
    },

    async listAdvisoryFeedRuns(request, call) {
      const filter = { field: 'feed_uid', uid: request.feedUid }
      const { rows, ...page } = await listJobRuns(store, call, feedJob, request, filter)
      return create(ListAdvisoryFeedRunsResponseSchema, { advisoryFeedRuns: rows.map(toFeedRun), ...page })
    },
  })
}

function toFeedRun(row: JobRunRow): AdvisoryFeedRun {
  const counts = readRunCounts(row)
  return create(AdvisoryFeedRunSchema, {
    ...runFields(row),
    feedUid: row.parent,
    ...(Object.keys(counts).length > 0 && { counts }),
  })
}

type Settings = Pick<AdvisoryFeedRow, 'format' | 'interval_ms' | 'paused'>

function settingsOf({ format, interval, paused }: AdvisoryFeed): Settings {
  const intervalMs = interval && durationMs(interval)
  return { format, interval_ms: intervalMs ?? limits.feedIntervalMsDefault, paused: paused ? 1 : 0 }
}

/** Returns other columns that change with the settings of a feed. */
function dependentChanges(row: AdvisoryFeedRow, settings: Settings, now: number): Partial<AdvisoryFeedRow> {
  const isFormatChanged = settings.format !== row.format
  const isResumed = row.paused === 1 && settings.paused === 0
  const nextMs = Math.max(now, row.begun_ms + settings.interval_ms)
  return {
    // Import the file again in its new format.
    ...(isFormatChanged && { etag: '', last_modified: '' }),
    ...(settings.interval_ms !== row.interval_ms && row.failures === 0 && { due_ms: nextMs }),
    ...((isFormatChanged || isResumed) && { due_ms: now }),
    ...(settings.paused === 1 && NO_LEASE),
  }
}

/** Characters of encoded URLs. */
const urlPattern = /^[\x21-\x7e]*$/

function checkUrl(url: string, plainHttp: boolean): FieldViolation | undefined {
  const { feedUrlCharsMax: max } = limits
  if (url.length > max) return { field: 'url', description: `must have at most ${max} characters` }
  const problem = urlPattern.test(url) ? urlProblem(url, { plainHttp }) : 'must be an encoded URL'
  return problem === undefined ? undefined : { field: 'url', description: problem }
}

function checkSettings({ format, interval }: AdvisoryFeed): (FieldViolation | undefined)[] {
  const { feedIntervalMsMin: min, feedIntervalMsMax: max } = limits
  const intervalMs = interval === undefined ? limits.feedIntervalMsDefault : durationMs(interval)
  return [
    format === '' || (formats as readonly string[]).includes(format)
      ? undefined
      : { field: 'format', description: `must be one of ${formats.join(', ')}, or empty` },
    intervalMs !== undefined && intervalMs >= min && intervalMs <= max
      ? undefined
      : { field: 'interval', description: `must be from ${min / 1000}s to ${max / 1000}s` },
  ]
}

function toAdvisoryFeed(row: AdvisoryFeedRow, now: number): AdvisoryFeed {
  const feed = create(AdvisoryFeedSchema, {
    uid: row.uid,
    url: row.url,
    format: row.format,
    interval: {
      seconds: BigInt(Math.floor(row.interval_ms / 1000)),
      nanos: (row.interval_ms % 1000) * 1_000_000,
    },
    paused: row.paused === 1,
    state: stateOf(row, now),
    lastError: row.error,
    failures: row.failures,
    sourceEtag: row.etag,
    createTime: timestampOf(row.created_ms),
    updateTime: timestampOf(row.updated_ms),
  })
  if (row.begun_ms > 0) feed.lastAttemptTime = timestampOf(row.begun_ms)
  if (row.succeeded_ms > 0) feed.lastSuccessTime = timestampOf(row.succeeded_ms)
  if (row.paused === 0) feed.nextAttemptTime = timestampOf(row.due_ms)
  if (row.counts.byteLength > 0) feed.lastRun = fromBinary(ImportCountsSchema, row.counts)
  return feed
}

function stateOf(row: AdvisoryFeedRow, now: number): State {
  if (row.paused === 1) return State.PAUSED
  if (row.runner !== '' && row.lease_ms > now) return State.RUNNING
  if (row.error !== '') return State.FAILED
  return row.succeeded_ms > 0 ? State.SUCCEEDED : State.WAITING
}
