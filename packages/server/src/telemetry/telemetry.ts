import { SetupError } from '../config/setup-errors.ts'
import { version } from '../config/version.ts'
import type { RequestObserver } from '../port/request-observer.ts'
import type { Log } from '../runtime/log.ts'
import type { Tracer } from '../runtime/tracer.ts'
import { openAccessLog } from './access-log.ts'
import { createRequestObserver } from './request-observer.ts'
import type { TelemetrySettings } from './settings.ts'

/** Traces and the access log of a server, as its configuration has them. */
export interface Telemetry {
  /** Undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
  /** Undefined: no request is recorded. */
  readonly observer: RequestObserver | undefined
  /** The log that was given; with traces its lines name theirs. */
  readonly log: Log
  reopen(): void
  /** Writes and exports what is buffered, for a bounded time. Never rejects. */
  close(): Promise<void>
}

/** Throws a SetupError for a file that cannot be opened. */
export async function openTelemetry(
  {
    tracing: settings,
    accessLog,
    traceOrigins,
    blobs,
  }: TelemetrySettings & { readonly blobs: { readonly endpoint: string | undefined } | undefined },
  log: Log,
  { worker }: { readonly worker?: number | undefined } = {},
): Promise<Telemetry> {
  const targets = [...traceOrigins, ...(blobs?.endpoint === undefined ? [] : [blobs.endpoint])]
  const lines =
    accessLog && (await withSettingName('BERTH_ACCESS_LOG', () => openAccessLog(accessLog, log, worker)))
  // Takes time and memory, so only servers with traces load it.
  const otel = settings && (await import('./tracing.ts'))
  const tracing =
    settings &&
    (await withSettingName('the OTEL_ variables', async () =>
      otel?.openTracing(settings, { version: version(), targets, log }),
    ))
  return {
    tracer: tracing,
    observer: createRequestObserver({ tracing, accessLog: lines, probes: accessLog?.probes === true }),
    log: tracing === undefined || otel === undefined ? log : otel.tracedLog(log, tracing),
    reopen: () => lines?.reopen(),
    async close() {
      await Promise.all([tracing?.stop(), lines?.close()])
    },
  }
}

async function withSettingName<T>(setting: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof SetupError) throw error
    throw new SetupError(`${setting}: ${(error as Error).message}`)
  }
}
