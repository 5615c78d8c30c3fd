import {
  type BackgroundJob,
  BackgroundJobSchema,
  type ListJobRunsRequest,
  ListJobRunsResponseSchema,
  ListJobsResponseSchema,
  ListMailsResponseSchema,
  OperatorJobsService,
  type RecordedJobRun,
  RecordedJobRunSchema,
} from '@berth/contract/gen/berth/operator/v1/jobs_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create } from '@bufbuild/protobuf'
import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { checkUid, requireValid } from '../../api/fields.ts'
import { timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { listMails } from '../../mail/outbox.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { type JobOverview, readJobOverview } from '../../storage/jobs/job-results.ts'
import { nodeNames, readNodes } from '../../storage/jobs/nodes.ts'
import {
  countOperatorRuns,
  listOperatorRuns,
  type OperatorRun,
  type RunFilters,
  readRunNames,
  runKinds,
  runStates,
} from '../job-runs.ts'
import { type OperatorContext, operatorService } from './context.ts'
import { readPage } from './pages.ts'

/** Background work and the queue of emails, for operators. */

const mailStates: readonly string[] = ['queued', 'sent', 'failed']

export function operatorJobsService(context: OperatorContext): ServiceImplementation {
  const { store, jobKinds } = context
  const { db, clock } = store
  const sorted = jobKinds.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  return operatorService(context, OperatorJobsService, {
    async listJobs() {
      const nodeName = nodeNames(await readNodes(db.kysely))
      const jobs: BackgroundJob[] = []
      for (const kind of sorted)
        jobs.push(toMessage(kind.name, await readJobOverview(db, kind, clock()), nodeName))
      return create(ListJobsResponseSchema, { jobs })
    },
    async listJobRuns(request, call) {
      const filters = checkedFilters(request)
      const { rows, nextPageToken } = await readPage(
        store,
        call,
        request,
        [filters],
        (page) => listOperatorRuns(db, filters, page, clock()),
        ({ startedMs, uid }) => [startedMs, uid],
      )
      const names = await readRunNames(db, rows)
      return create(ListJobRunsResponseSchema, {
        jobRuns: rows.map((run) => toRunMessage(run, names)),
        nextPageToken,
        totalCount: BigInt(await countOperatorRuns(db, filters, clock())),
      })
    },
    async listMails({ state }) {
      if (state !== '' && !mailStates.includes(state))
        throw invalidArgument('state', `must be one of ${mailStates.join(', ')}`)
      const mails = await listMails(db.kysely, state === '' ? undefined : state)
      return create(ListMailsResponseSchema, {
        mails: mails.map(({ updateTime, ...mail }) => ({
          ...mail,
          updateTime: timestampOf(Date.parse(updateTime)),
        })),
      })
    },
  })
}

function toMessage(
  name: string,
  { running, waiting, nextDueMs, result }: JobOverview,
  nodeName: (id: string) => string,
): BackgroundJob {
  const failedMs = Number(result?.failed_ms ?? 0)
  return create(BackgroundJobSchema, {
    name,
    running: running.map(({ key, node, leaseMs }) => ({
      key,
      nodeName: nodeName(node),
      leaseExpireTime: timestampOf(leaseMs),
    })),
    waitingCount: BigInt(waiting),
    ...(nextDueMs === undefined ? {} : { nextRunTime: timestampOf(nextDueMs) }),
    ...(result === undefined
      ? {}
      : {
          lastResult: {
            succeeded: Number(result.succeeded) !== 0,
            key: result.key,
            nodeName: nodeName(result.node),
            startTime: timestampOf(Number(result.started_ms)),
            endTime: timestampOf(Number(result.ended_ms)),
          },
          lastError: result.error,
        }),
    ...(failedMs === 0 ? {} : { lastErrorTime: timestampOf(failedMs) }),
  })
}

function checkedFilters({ kind, state, resourceUid, since, until }: ListJobRunsRequest): RunFilters {
  requireValid(
    checkChoice('kind', kind, runKinds),
    checkChoice('state', state, runStates),
    checkUid('resource_uid', resourceUid),
  )
  return {
    ...{ kind, state, resourceUid },
    sinceMs: since && timestampMs(since),
    untilMs: until && timestampMs(until),
  }
}

function checkChoice(field: string, text: string, choices: readonly string[]): FieldViolation | undefined {
  if (text === '' || choices.includes(text)) return undefined
  return { field, description: `must be one of ${choices.join(', ')}` }
}

function toRunMessage(run: OperatorRun, names: ReadonlyMap<string, string>): RecordedJobRun {
  const { uid, kind, resource, state, actor, startedMs, endedMs, error, isDryRun, counts } = run
  return create(RecordedJobRunSchema, {
    ...{ id: uid, kind, state, actor, error },
    resourceUid: resource,
    resourceName: names.get(resource) ?? '',
    organizationName: names.get(rootOf(resource)) ?? '',
    startTime: timestampOf(startedMs),
    ...(endedMs > 0 && { endTime: timestampOf(endedMs) }),
    dryRun: isDryRun,
    counts: counts
      .filter(({ count }) => count > 0)
      .map(({ name, count, bytes }) => ({ name, count: BigInt(count), bytes: BigInt(Math.round(bytes)) })),
  })
}
