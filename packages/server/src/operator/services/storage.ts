import {
  ListStorageRunsResponseSchema,
  OperatorStorageService,
  type StartStorageRunRequest,
  type StorageRun,
  StorageRunKind,
  StorageRunSchema,
  StorageRunState,
  StorageStatusSchema,
} from '@berth/contract/gen/berth/operator/v1/storage_pb.js'
import { create } from '@bufbuild/protobuf'
import type { Duration } from '@bufbuild/protobuf/wkt'
import { failedPrecondition, invalidArgument, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { durationMs, timestampOf } from '../../api/messages.ts'
import { describeBlobStore } from '../../installation/installation.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { gcJob } from '../../registry/jobs.ts'
import { readTotalUsage } from '../../registry/quota/usage.ts'
import {
  currentState,
  type StorageRunKind as RunKind,
  type RunTotals,
} from '../../registry/runs/recorded-run.ts'
import type { Finding } from '../../registry/scrub/findings.ts'
import { readJob } from '../../storage/jobs/job-leases.ts'
import { nodeNames, readNodes } from '../../storage/jobs/nodes.ts'
import type { StorageRunRow } from '../../storage/schema/tables.ts'
import { callActor } from '../actor.ts'
import { ensureFirstOrganization } from '../bootstrap.ts'
import { cancelStorageRun, listStorageRuns, readStorageRun } from '../storage-runs.ts'
import { type OperatorContext, operatorService } from './context.ts'
import { readPage } from './pages.ts'

/** Stored data, garbage collection and scrub, for operators. */

const TYPE = 'operator.berth.dev/StorageRun'
const HOUR_MS = 60 * 60 * 1000
const kindNames: Readonly<Record<StorageRunKind, RunKind | undefined>> = {
  [StorageRunKind.UNSPECIFIED]: undefined,
  [StorageRunKind.GARBAGE_COLLECTION]: 'collection',
  [StorageRunKind.SCRUB]: 'scrub',
}
const kinds = {
  collection: StorageRunKind.GARBAGE_COLLECTION,
  scrub: StorageRunKind.SCRUB,
} as const
const states = {
  running: StorageRunState.RUNNING,
  succeeded: StorageRunState.SUCCEEDED,
  failed: StorageRunState.FAILED,
  cancelled: StorageRunState.CANCELLED,
} as const

export function operatorStorageService(context: OperatorContext): ServiceImplementation {
  const { store, config, disk, storageRunner } = context
  const { db, clock } = store
  const readNodeNames = async () => nodeNames(await readNodes(db.kysely))
  const readRun = async (id: string): Promise<StorageRun> => {
    const row = await readStorageRun(store, id)
    if (row === undefined) throw runNotFound(id)
    return toMessage(row, { now: clock(), nodeName: await readNodeNames(), withFindings: true })
  }
  /** What the audit log records changes of the installation about. */
  const auditUid = async () => (await ensureFirstOrganization({ store })).organization.uid

  return operatorService(context, OperatorStorageService, {
    async getStorageStatus() {
      const { bytes, manifests } = await readTotalUsage(db)
      const dueMs = Number((await readJob(db, gcJob))?.due_ms ?? 0)
      const { gcIntervalMs, gcGraceMs } = config
      const isScheduled = gcIntervalMs !== undefined && dueMs > 0 && dueMs < Number.MAX_SAFE_INTEGER
      return create(StorageStatusSchema, {
        disks: (await disk.readings()).map(({ name, path, freeBytes, totalBytes, reserveBytes }) => ({
          name,
          path,
          freeBytes: BigInt(Math.round(freeBytes)),
          totalBytes: BigInt(totalBytes),
          reserveBytes: BigInt(Math.round(reserveBytes)),
        })),
        nodeName: (await readNodeNames())(db.node),
        blobStore: describeBlobStore(config),
        storedBytes: BigInt(bytes),
        manifestCount: BigInt(manifests),
        ...(gcIntervalMs === undefined ? {} : { garbageCollectionInterval: durationOf(gcIntervalMs) }),
        garbageCollectionGrace: durationOf(gcGraceMs),
        ...(isScheduled ? { nextGarbageCollectionTime: timestampOf(dueMs) } : {}),
      })
    },

    async listStorageRuns(request, call) {
      const kind = kindNames[request.kind]
      const { rows, nextPageToken } = await readPage(
        store,
        call,
        request,
        [kind ?? ''],
        (page) => listStorageRuns(store, kind, page),
        (row) => [Number(row.started_ms), row.id],
      )
      const view = { now: clock(), nodeName: await readNodeNames(), withFindings: false }
      return create(ListStorageRunsResponseSchema, {
        runs: rows.map((row) => toMessage(row, view)),
        nextPageToken,
      })
    },

    getStorageRun: ({ id }) => readRun(id),

    async startStorageRun(request, call) {
      const { kind, ...options } = checkedRequest(request, config.gcGraceMs)
      const actor = callActor(store, call)
      const uid = await auditUid()
      const id = await storageRunner.start({
        kind,
        ...options,
        actor: actor.uid,
        with: (tx) => actor.record(tx, uid),
      })
      if (id === undefined)
        throw failedPrecondition(
          'RUN_IN_PROGRESS',
          `a ${kind === 'scrub' ? 'scrub' : 'garbage collection'} is in progress; wait until it has ended, or cancel it`,
        )
      return readRun(id)
    },

    async cancelStorageRun({ id }, call) {
      if ((await readStorageRun(store, id)) === undefined) throw runNotFound(id)
      if (!(await cancelStorageRun(store, id, callActor(store, call), await auditUid())))
        throw failedPrecondition('RUN_ENDED', 'the run has ended')
      return readRun(id)
    },
  })
}

function runNotFound(id: string) {
  return notFound(TYPE, id, `run ${id} does not exist; the last 50 of each kind are kept`)
}

function checkedRequest(request: StartStorageRunRequest, defaultGraceMs: number) {
  const { dryRun, grace, bytesPerSecondMax } = request
  const kind = kindNames[request.kind]
  if (kind === undefined) throw invalidArgument('kind', 'is required')
  const graceMs = grace === undefined ? defaultGraceMs : durationMs(grace)
  requireValid(
    graceMs === undefined || graceMs < HOUR_MS
      ? { field: 'grace', description: 'must be at least one hour; berth admin collect --grace accepts less' }
      : undefined,
    kind === 'scrub' && dryRun
      ? { field: 'dryRun', description: 'applies to garbage collections only: a scrub changes nothing' }
      : undefined,
    kind === 'scrub' && grace !== undefined
      ? { field: 'grace', description: 'applies to garbage collections only' }
      : undefined,
    bytesPerSecondMax < 0n ? { field: 'bytesPerSecondMax', description: 'must not be negative' } : undefined,
  )
  return {
    kind,
    dryRun,
    graceMs: graceMs ?? defaultGraceMs,
    bytesPerSecond: bytesPerSecondMax === 0n ? undefined : Number(bytesPerSecondMax),
  }
}

function durationOf(ms: number): Pick<Duration, 'seconds' | 'nanos'> {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 }
}

function toMessage(
  row: StorageRunRow,
  {
    now,
    nodeName,
    withFindings,
  }: { readonly now: number; readonly nodeName: (id: string) => string; readonly withFindings: boolean },
): StorageRun {
  const { state, error } = currentState(row, now)
  const findings = withFindings ? (JSON.parse(row.findings) as Finding[]) : []
  const endedMs = Number(row.ended_ms)
  return create(StorageRunSchema, {
    id: row.id,
    kind: kinds[row.kind as RunKind],
    state: states[state],
    dryRun: Number(row.dry_run) !== 0,
    actor: row.actor,
    nodeName: nodeName(row.node),
    startTime: timestampOf(Number(row.started_ms)),
    updateTime: timestampOf(Number(row.updated_ms)),
    ...(endedMs === 0 ? {} : { endTime: timestampOf(endedMs) }),
    step: row.step,
    done: BigInt(row.done),
    total: BigInt(row.total),
    totals: Object.entries(JSON.parse(row.totals) as RunTotals).map(([kind, { count, bytes }]) => ({
      kind,
      count: BigInt(count),
      bytes: BigInt(Math.round(bytes)),
    })),
    error,
    cancelRequested: state === 'running' && Number(row.cancel) !== 0,
    findings: findings.map(({ what, repos, repoCount, bytes, ...finding }) => ({
      ...finding,
      type: what,
      bytes: BigInt(bytes),
      repos: repos.map(({ name }) => name),
      repoCount: BigInt(repoCount),
    })),
  })
}
