import type { Socket } from 'node:net'
import type { ConnectionSource } from '../port/listen.ts'
import type { WriteLock } from '../storage/engines/sqlite/driver.ts'
import type { MetricsSnapshot, MetricsTexts } from '../telemetry/workers/metrics-snapshot.ts'
import {
  type FilesInUse,
  type ListenerName,
  type ReloadedSettings,
  send,
  type ToSupervisor,
  type ToWorker,
  type WorkerAssignment,
} from './messages.ts'
import { createWriteLock } from './write-lock.ts'

/** A worker's side of the channel to its supervisor. */
export interface WorkerLink {
  readonly assignment: WorkerAssignment
  /** Undefined if the server does not have this listener. */
  source(listener: ListenerName): ConnectionSource | undefined
  /** Returns the metrics of all workers, added up. */
  collectMetrics(): Promise<MetricsTexts>
  /** `collect` returns the metrics of this worker. */
  onCollect(collect: () => Promise<MetricsSnapshot>): void
  /** Sends what this worker has counted when it stops. Resolves when it is sent. */
  sendCounts(counts: MetricsSnapshot): Promise<void>
  reportReady(notice: string): void
  /** `reload` applies settings and reads files again. */
  onReload(reload: (settings: ReloadedSettings) => Promise<void>): void
  /** A worker that is started later uses these files, too. */
  reportFiles(files: FilesInUse): void
  /** Reports that this worker cannot start before the server is started again. Resolves when it is sent. */
  requireRestart(reason: string): Promise<void>
  /** Of a SQLite database. */
  readonly writeLock: WriteLock
}

/** Waits for the assignment of this process. A worker ends with its supervisor: it would hold a database that another server may open. */
export async function connectToSupervisor(): Promise<WorkerLink> {
  process.once('disconnect', () => process.exit(1))
  // Sent to all processes of the server together: the supervisor decides what this one reloads.
  process.on('SIGHUP', () => undefined)
  const assigned = Promise.withResolvers<WorkerAssignment>()
  const accepting = new Map<ListenerName, (socket: Socket) => void>()
  const closing = new Map<ListenerName, () => void>()
  const requests = new Map<number, PromiseWithResolvers<MetricsTexts>>()
  let collect: (() => Promise<MetricsSnapshot>) | undefined
  let reload: ((settings: ReloadedSettings) => Promise<void>) | undefined
  let lastId = 0
  let files: FilesInUse | undefined
  let appliedReload = 0
  const report = (message: ToSupervisor) => send(process, message)
  const sendFiles = () => files && report({ type: 'files', files, reload: appliedReload })
  const writeLock = createWriteLock((type) => report({ type }))

  process.on('message', (message: ToWorker, socket?: Socket) => {
    switch (message.type) {
      case 'assignment':
        return assigned.resolve(message.assignment)
      case 'connection':
        if (socket !== undefined) accepting.get(message.listener)?.(socket)
        return report({ type: 'accepted' })
      case 'closed':
        return closing.get(message.listener)?.()
      case 'ping':
        return report({ type: 'pong' })
      case 'reload':
        void reload?.(message.settings).then(() => {
          appliedReload = message.reload
          sendFiles()
        })
        return undefined
      case 'write-granted':
        return writeLock.grant(message.isWanted)
      case 'write-wanted':
        return writeLock.want()
      case 'collect': {
        const { round } = message
        collect?.().then(
          (snapshot) => {
            // A worker that stops has sent its counts, which may be later.
            if (collect !== undefined) report({ type: 'collected', round, snapshot })
          },
          () => undefined,
        )
        return undefined
      }
      case 'metrics': {
        const request = requests.get(message.id)
        requests.delete(message.id)
        if (message.texts !== undefined) request?.resolve(message.texts)
        else request?.reject(new Error('adding up the metrics of the workers failed'))
        return undefined
      }
    }
  })

  const assignment = await assigned.promise
  appliedReload = assignment.reload
  return {
    assignment,
    source(listener) {
      const address = assignment.listeners[listener]
      return (
        address && {
          address,
          ticketKeys: Buffer.from(assignment.ticketKeys, 'base64'),
          open(accept) {
            accepting.set(listener, accept)
            report({ type: 'listening', listener })
          },
          close: () =>
            new Promise((resolve) => {
              closing.set(listener, resolve)
              report({ type: 'closing', listener })
            }),
        }
      )
    },
    collectMetrics() {
      const id = ++lastId
      const request = Promise.withResolvers<MetricsTexts>()
      requests.set(id, request)
      report({ type: 'metrics', id })
      return request.promise
    },
    onCollect(work) {
      collect = work
    },
    sendCounts: (snapshot) =>
      new Promise((resolve) => {
        collect = undefined
        send(process, { type: 'collected', snapshot }, undefined, resolve)
      }),
    reportReady: (notice) => report({ type: 'ready', notice }),
    onReload(work) {
      reload = work
    },
    reportFiles(inUse) {
      files = inUse
      sendFiles()
    },
    requireRestart: (reason) =>
      new Promise((resolve) => {
        send(process, { type: 'restart-required', reason }, undefined, resolve)
      }),
    writeLock,
  }
}
