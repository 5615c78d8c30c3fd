import {
  type BackgroundJob,
  BackgroundJobSchema,
  ListJobsResponseSchema,
  ListMailsResponseSchema,
  OperatorJobsService,
} from '@berth/contract/gen/berth/operator/v1/jobs_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { listMails } from '../../mail/outbox.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { type JobOverview, readJobOverview } from '../../storage/jobs/job-results.ts'
import { nodeNames, readNodes } from '../../storage/jobs/nodes.ts'
import { type OperatorContext, operatorService } from './context.ts'

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
