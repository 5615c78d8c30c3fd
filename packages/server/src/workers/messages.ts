import type { ChildProcess, SendHandle } from 'node:child_process'
import type { BoundAddress } from '../port/listen.ts'
import type { MetricsSnapshot } from '../telemetry/metrics-snapshot.ts'

/** What the supervisor and its workers send each other. */

/** A port of the server: the public one, and that of the operator. */
export type ListenerName = 'public' | 'metrics'

/** What a worker is. The first message that it receives. */
export interface WorkerAssignment {
  /** From 1. A worker that replaces another one has its number. */
  readonly number: number
  /** Workers of the server. */
  readonly count: number
  /** Whether another worker has been ready before: the database is migrated, and the setup link was printed. */
  readonly isLater: boolean
  /** Whether the server runs with --dev. */
  readonly dev: boolean
  /** The environment that the server started with, including its file. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Keys of TLS session tickets, in base64. */
  readonly ticketKeys: string
  readonly listeners: Readonly<Partial<Record<ListenerName, BoundAddress>>>
}

export type ToWorker =
  | { readonly type: 'assignment'; readonly assignment: WorkerAssignment }
  /** With a socket, unless its client has disconnected. */
  | { readonly type: 'connection'; readonly listener: ListenerName }
  /** Replies to `closing`: no more connections come. */
  | { readonly type: 'closed'; readonly listener: ListenerName }
  | { readonly type: 'ping' }
  /** Another worker waits to write. */
  | { readonly type: 'write-wanted' }
  /** The worker may write; `isWanted`: another one already waits. */
  | { readonly type: 'write-granted'; readonly isWanted: boolean }
  /** Asks for a snapshot of the metrics. */
  | { readonly type: 'collect'; readonly id: number }
  /** Replies to `metrics`. */
  | { readonly type: 'metrics'; readonly id: number; readonly others: readonly MetricsSnapshot[] }

export type ToSupervisor =
  /** Accepts connections of a listener. */
  | { readonly type: 'listening'; readonly listener: ListenerName }
  /** Received a connection, and can receive the next one. */
  | { readonly type: 'accepted' }
  /** Asks for no more connections. */
  | { readonly type: 'closing'; readonly listener: ListenerName }
  /** Serves requests. `notice`: what the server prints when it is ready. */
  | { readonly type: 'ready'; readonly notice: string }
  | { readonly type: 'pong' }
  /** Waits to write. */
  | { readonly type: 'write-requested' }
  | { readonly type: 'write-released' }
  /** Asks for the metrics of the other workers. */
  | { readonly type: 'metrics'; readonly id: number; readonly own: MetricsSnapshot }
  /** Replies to `collect`. */
  | { readonly type: 'collected'; readonly id: number; readonly snapshot: MetricsSnapshot }

/** Sends a message if the other process can receive one. A socket stays open in this process, too. */
export function send<Message extends ToWorker | ToSupervisor>(
  to: Pick<ChildProcess, 'connected'> & { send?: ChildProcess['send'] | undefined },
  message: Message,
  handle?: SendHandle,
): void {
  // A failure means that the process has ended, which its exit reports.
  if (to.connected) to.send?.(message, handle, { keepOpen: true }, () => undefined)
}
