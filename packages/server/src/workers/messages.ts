import type { ChildProcess, SendHandle } from 'node:child_process'
import type { BoundAddress } from '../port/listen.ts'
import type { TlsInUse } from '../port/tls/tls-watcher.ts'
import type { MetricsSnapshot, MetricsTexts } from '../telemetry/workers/metrics-snapshot.ts'

/** What the supervisor and its workers send each other. */

/** A port of the server: the public one, and that of the operator. */
export type ListenerName = 'public' | 'metrics'

export type WorkerEnvironment = Readonly<Record<string, string | undefined>>

/** The files that can change while the server runs, as a worker uses them. */
export interface FilesInUse {
  readonly tls: TlsInUse | undefined
  /** Content of the sign-in providers file. */
  readonly signInProviders: string | undefined
}

/** The environment as a reload reads it, or what is wrong with it, a sentence each. */
export type ReloadedSettings = { readonly env: WorkerEnvironment } | { readonly problems: readonly string[] }

/** What a worker is. The first message that it receives. */
export interface WorkerAssignment {
  /** Version of the server: a worker of another one does not start. */
  readonly version: string
  /** From 1. A worker that replaces another one has its number. */
  readonly number: number
  /** Workers of the server. */
  readonly count: number
  /** Whether another worker has been ready before: the database is migrated, and the setup link was printed. */
  readonly isLater: boolean
  /** Whether the server runs with --dev. */
  readonly dev: boolean
  /** The environment that the server started with, including its file. */
  readonly env: WorkerEnvironment
  /** The environment of the last reload; before one, that of the start. */
  readonly reloadedEnv: WorkerEnvironment
  /** The files that the workers before this one use; undefined before there was one. */
  readonly files?: FilesInUse
  /** The last reload that these files are from; 0 before one. */
  readonly reload: number
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
  /** Applies settings and reads files again. */
  | { readonly type: 'reload'; readonly reload: number; readonly settings: ReloadedSettings }
  /** Another worker waits to write. */
  | { readonly type: 'write-wanted' }
  /** The worker may write; `isWanted`: another one already waits. */
  | { readonly type: 'write-granted'; readonly isWanted: boolean }
  /** Asks for the metrics of this worker. */
  | { readonly type: 'collect'; readonly round: number }
  /** Replies to `metrics`; without texts, adding them up failed. */
  | { readonly type: 'metrics'; readonly id: number; readonly texts?: MetricsTexts }

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
  /** Uses these files, and has applied this reload. */
  | { readonly type: 'files'; readonly files: FilesInUse; readonly reload: number }
  /** Cannot start before the server is started again, for this reason. */
  | { readonly type: 'restart-required'; readonly reason: string }
  /** Waits to write. */
  | { readonly type: 'write-requested' }
  | { readonly type: 'write-released' }
  /** Asks for the metrics of all workers. */
  | { readonly type: 'metrics'; readonly id: number }
  /** Replies to `collect`; without a round, the counts of a worker that stops. */
  | { readonly type: 'collected'; readonly round?: number; readonly snapshot: MetricsSnapshot }

/**
 * Sends a message if the other process can receive one. A socket stays open in this process, too. Calls `onSent` when nothing is left to
 * send.
 */
export function send<Message extends ToWorker | ToSupervisor>(
  to: Pick<ChildProcess, 'connected'> & { send?: ChildProcess['send'] | undefined },
  message: Message,
  handle?: SendHandle,
  onSent: () => void = () => undefined,
): void {
  // A failure means that the process has ended, which its exit reports.
  if (to.connected) to.send?.(message, handle, { keepOpen: true }, onSent)
  else onSent()
}
