/** Traces, as the parts of the server see them. Parts get `undefined` where tracing is off. */

/** Names and values of OpenTelemetry's semantic conventions. Never secrets, tokens, email addresses or names that users choose. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanOptions {
  /** `client`: another system does the work; default: this process does. */
  readonly kind?: 'client'
  readonly attributes?: SpanAttributes
}

/** A span while it lasts. */
export interface ActiveSpan {
  set(attributes: SpanAttributes): void
  /** The trace headers of a request to `origin` in this span; none for origins that do not take part in traces. */
  headersFor(origin: string): Readonly<Record<string, string>>
}

export interface Tracer {
  /**
   * Runs `work` in a span of the active trace, which ends with the promise that `work` returns, else with `work`. Without an active
   * trace that is recorded it only runs `work`.
   */
  span<T>(name: string, options: SpanOptions, work: (span: ActiveSpan) => T): T
  /** Runs `work` in a trace of its own. */
  job<T>(name: string, work: () => Promise<T>): Promise<T>
  /** `work` that runs in the trace that is active now, whenever it is called. */
  bind<A extends unknown[], T>(work: (...args: A) => T): (...args: A) => T
}

/** Runs `work` in a trace of its own, if traces are on. */
export function traceJob<T>(tracer: Tracer | undefined, name: string, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.job(name, work)
}

/** Iterates over `source` in a span that lasts until the iteration ends. */
export async function* spanOver<T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  source: AsyncIterable<T>,
): AsyncGenerator<T> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  tracer.span(name, options, () => ended).catch(() => undefined)
  try {
    yield* source
  } catch (error) {
    reject(error)
    throw error
  } finally {
    resolve()
  }
}
