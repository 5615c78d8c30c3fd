import { closeSync, openSync } from 'node:fs'
import { pino } from 'pino'
import { limits } from '../config/limits.ts'
import type { Log } from '../runtime/log.ts'

/** One JSON line for each request. */
export interface AccessLog {
  /** Never blocks. A line is dropped if too many are buffered. */
  write(line: AccessLine): void
  /** Opens the file again, after a program that rotates logs has moved it. */
  reopen(): void
  /** Writes what is buffered, for at most `limits.accessLogFlushMs`. Never rejects. */
  close(): Promise<void>
}

/** Without tokens, secrets, email addresses, and values in paths and queries. */
export interface AccessLine {
  /** When the request arrived, RFC 3339. */
  readonly time: string
  readonly request_id: string
  readonly trace_id: string | undefined
  readonly protocol: 'rest' | 'oci' | 'grpc'
  readonly http_method: string | undefined
  /** Full RPC name, or operation of the registry. */
  readonly method: string | undefined
  /** Template of the path. */
  readonly route: string | undefined
  /** uid of the authenticated caller. */
  readonly identity: string | undefined
  /** uid of the caller's organization; undefined for users, who belong to several. */
  readonly organization: string | undefined
  /** HTTP status; 499 if the client was gone before the response. */
  readonly status: number
  /** Name of the RPC code. */
  readonly code: string | undefined
  /** The request or its response was cut off. */
  readonly aborted: true | undefined
  /** Bytes of the bodies. */
  readonly bytes_in: number
  readonly bytes_out: number
  /** Until the last byte of the response was handed to the system. */
  readonly duration_ms: number
  readonly client: string
  readonly user_agent: string | undefined
}

export interface AccessLogSettings {
  /** A file descriptor, or the path of a file that is appended to. */
  readonly target: 1 | 2 | string
  /** Whether requests for health and metrics are logged. */
  readonly probes: boolean
}

const WARNING_INTERVAL_MS = 60_000
const LOG_MODE = 0o640

/** The system writes this much to a pipe in one piece (PIPE_BUF), so that workers do not mix their lines. */
const PIPE_WRITE_BYTES = 4096

/** Rejects with the error of the system for a file that cannot be opened. `worker`: number of this worker, which each line then has. */
export async function openAccessLog(
  { target }: AccessLogSettings,
  log: Log,
  worker?: number,
): Promise<AccessLog> {
  // pino reports a file that it cannot open, and then ends the process with a stack.
  if (typeof target === 'string') closeSync(openSync(target, 'a', LOG_MODE))
  const out = pino.destination({
    dest: target,
    sync: false,
    append: true,
    mode: LOG_MODE,
    maxLength: limits.accessLogBufferBytesMax,
    ...(worker !== undefined && typeof target === 'number' && { maxWrite: PIPE_WRITE_BYTES }),
  })
  let dropped = 0
  let warnedMs = Number.NEGATIVE_INFINITY
  const warn = (fields: object) => {
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn({ ...fields, dropped }, 'lines of the access log were not written; check BERTH_ACCESS_LOG')
  }
  await new Promise<void>((resolve, reject) => {
    out.once('ready', () => {
      out.off('error', reject)
      resolve()
    })
    out.once('error', reject)
  })
  let isClosed = false
  out.on('error', (err: NodeJS.ErrnoException) => {
    // After EPIPE, pino replaces `write` and `end` with functions that do nothing.
    if (err.code === 'EPIPE') isClosed = true
    warn({ err })
  })
  out.on('drop', () => {
    dropped += 1
    warn({})
  })
  return {
    write(line) {
      // A connection that is closed after the log has a last line.
      if (isClosed) return
      out.write(`${JSON.stringify(worker === undefined ? line : { ...line, worker })}\n`)
    },
    reopen() {
      if (typeof target === 'string') out.reopen()
    },
    async close() {
      if (isClosed) return
      isClosed = true
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, limits.accessLogFlushMs)
      // Not `flush`, which does not wait for what is being written.
      out.once('close', resolve).once('error', resolve)
      out.end()
      await ended
      clearTimeout(timer)
      out.destroy()
    },
  }
}
