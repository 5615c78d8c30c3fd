import type { Socket } from 'node:net'
import type { ConnectionSource } from '../port/listen.ts'
import type { WriteTurn } from '../storage/engines/sqlite/driver.ts'
import type { MetricsSnapshot } from '../telemetry/metrics-snapshot.ts'
import {
  type ListenerName,
  send,
  type ToSupervisor,
  type ToWorker,
  type WorkerAssignment,
} from './messages.ts'
import { createWriteTurn } from './write-turn.ts'

/** A worker's side of the channel to its supervisor. */
export interface WorkerLink {
  readonly assignment: WorkerAssignment
  /** Undefined if the server does not have this listener. */
  source(listener: ListenerName): ConnectionSource | undefined
  /** Returns the metrics of the other workers, given those of this one. */
  exchangeMetrics(own: MetricsSnapshot): Promise<readonly MetricsSnapshot[]>
  /** `collect` returns the metrics of this worker for another one. */
  onCollect(collect: () => Promise<MetricsSnapshot>): void
  reportReady(notice: string): void
  /** Of a SQLite database. */
  readonly writeTurn: WriteTurn
}

/** Waits for the assignment of this process. A worker ends with its supervisor: it would hold a database that another server may open. */
export async function connectToSupervisor(): Promise<WorkerLink> {
  process.once('disconnect', () => process.exit(1))
  const assigned = Promise.withResolvers<WorkerAssignment>()
  const accepting = new Map<ListenerName, (socket: Socket) => void>()
  const closing = new Map<ListenerName, () => void>()
  const exchanges = new Map<number, (others: readonly MetricsSnapshot[]) => void>()
  let collect: (() => Promise<MetricsSnapshot>) | undefined
  let lastId = 0
  const tell = (message: ToSupervisor) => send(process, message)
  const writeTurn = createWriteTurn((type) => tell({ type }))

  process.on('message', (message: ToWorker, socket?: Socket) => {
    switch (message.type) {
      case 'assignment':
        return assigned.resolve(message.assignment)
      case 'connection':
        if (socket !== undefined) accepting.get(message.listener)?.(socket)
        return tell({ type: 'accepted' })
      case 'closed':
        return closing.get(message.listener)?.()
      case 'ping':
        return tell({ type: 'pong' })
      case 'write-granted':
        return writeTurn.grant(message.isWanted)
      case 'write-wanted':
        return writeTurn.want()
      case 'collect': {
        const { id } = message
        collect?.().then(
          (snapshot) => tell({ type: 'collected', id, snapshot }),
          () => undefined,
        )
        return undefined
      }
      case 'metrics':
        exchanges.get(message.id)?.(message.others)
        exchanges.delete(message.id)
        return undefined
    }
  })

  const assignment = await assigned.promise
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
            tell({ type: 'listening', listener })
          },
          close: () =>
            new Promise((resolve) => {
              closing.set(listener, resolve)
              tell({ type: 'closing', listener })
            }),
        }
      )
    },
    exchangeMetrics: (own) =>
      new Promise((resolve) => {
        const id = ++lastId
        exchanges.set(id, resolve)
        tell({ type: 'metrics', id, own })
      }),
    onCollect(work) {
      collect = work
    },
    reportReady: (notice) => tell({ type: 'ready', notice }),
    writeTurn,
  }
}
