import {
  type Context,
  diag,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { ApiError, Code, codeName } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import type { Log } from '../runtime/log.ts'
import type { ActiveSpan, SpanAttributes, Tracer } from '../runtime/tracer.ts'
import { readOtlpFiles } from './otlp-files.ts'
import type { SamplerSettings, TracingSettings } from './tracing-settings.ts'

/**
 * OpenTelemetry. Servers without tracing never load this file. Nothing is registered globally: libraries that would find a global
 * tracer record nothing.
 */

export interface Tracing extends Tracer {
  /** Starts the span of a request, as a child of the span that its headers name. */
  startRequestSpan(name: string, headers: Headers): RequestSpan
  /** `trace_id` and `span_id` of the active span, for log lines; undefined outside of traces. */
  activeIds(): TraceIds | undefined
  /** Exports what is buffered, for at most `limits.traceFlushMs`. Never rejects. */
  stop(): Promise<void>
}

export interface RequestSpan {
  readonly traceId: string
  run<T>(work: () => T): T
  end(name: string, options: { readonly attributes: SpanAttributes; readonly failed: boolean }): void
}

export interface TraceIds {
  readonly trace_id: string
  readonly span_id: string
}

type OTLPExporterOptions = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>
type Headers = Readonly<Record<string, string | string[] | undefined>>

const WARNING_INTERVAL_MS = 60_000

/** `targets`: origins that trace headers are sent to. Throws an Error for a file that cannot be read. */
export async function openTracing(
  settings: TracingSettings,
  {
    version,
    targets,
    log,
  }: { readonly version: string; readonly targets: readonly string[]; readonly log: Log },
): Promise<Tracing> {
  reportFailures(log)
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'berth',
      'service.version': version,
      'service.instance.id': crypto.randomUUID(),
      ...settings.resource,
    }),
    sampler: samplerOf(settings.sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: await exporterOf(settings.exporter),
        maxQueueSize: settings.batch.queueMax,
        maxExportBatchSize: settings.batch.batchMax,
        scheduledDelayMillis: settings.batch.delayMs,
        exportTimeoutMillis: settings.batch.timeoutMs,
      }),
    ],
    spanLimits: { attributeValueLengthLimit: limits.spanAttributeCharsMax },
  })
  const tracer = provider.getTracer('berth', version)
  const contexts = new AsyncLocalStorageContextManager()
  const propagator = new W3CTraceContextPropagator()
  const origins = new Set(settings.propagates ? targets : [])

  const runInSpan = <T>(span: Span, parent: Context, work: () => T): T => {
    let result: T
    try {
      result = contexts.with(trace.setSpan(parent, span), work)
    } catch (error) {
      endFailedSpan(span, error)
      throw error
    }
    if (result instanceof Promise)
      result.then(
        () => span.end(),
        (error: unknown) => endFailedSpan(span, error),
      )
    else span.end()
    return result
  }

  return {
    span(name, { kind, attributes = {} }, work) {
      const parent = contexts.active()
      if (trace.getSpan(parent)?.isRecording() !== true) return work(noopSpan)
      const span = tracer.startSpan(
        name,
        { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes },
        parent,
      )
      const active: ActiveSpan = {
        set: (more) => span.setAttributes(more),
        headersFor(origin) {
          const headers: Record<string, string> = {}
          if (origins.has(origin)) propagator.inject(trace.setSpan(parent, span), headers, setter)
          return headers
        },
      }
      return runInSpan(span, parent, () => work(active))
    },
    job: (name, work) => runInSpan(tracer.startSpan(name, { root: true }, ROOT_CONTEXT), ROOT_CONTEXT, work),
    bind: (work) => contexts.bind(contexts.active(), work),
    startRequestSpan(name, headers) {
      const parent = settings.propagates ? propagator.extract(ROOT_CONTEXT, headers, getter) : ROOT_CONTEXT
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent)
      const own = trace.setSpan(parent, span)
      return {
        traceId: span.spanContext().traceId,
        run: (work) => contexts.with(own, work),
        end(finalName, { attributes, failed }) {
          span.updateName(finalName)
          span.setAttributes(attributes)
          if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    activeIds() {
      const context = trace.getSpanContext(contexts.active())
      return context && idsOf(context)
    },
    async stop() {
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, limits.traceFlushMs)
      await Promise.race([provider.shutdown().catch(() => undefined), late])
      clearTimeout(timer)
    },
  }
}

/** A log whose lines name the trace and span in which they are written. */
export function tracedLog(log: Log, tracing: Pick<Tracing, 'activeIds'>): Log {
  const withIds = (fields: object) => ({ ...fields, ...tracing.activeIds() })
  return {
    error: (fields, message) => log.error(withIds(fields), message),
    warn: (fields, message) => log.warn(withIds(fields), message),
    info: (fields, message) => log.info(withIds(fields), message),
    debug: (fields, message) => log.debug(withIds(fields), message),
  }
}

const noopSpan: ActiveSpan = { set() {}, headersFor: () => ({}) }

const getter = {
  get: (headers: Headers, name: string) => headers[name],
  keys: (headers: Headers) => Object.keys(headers),
}
const setter = {
  set(headers: Record<string, string>, name: string, value: string) {
    headers[name] = value
  },
}

function idsOf({ traceId, spanId }: SpanContext): TraceIds {
  return { trace_id: traceId, span_id: spanId }
}

/** Ends a span whose work failed. Messages are not part of traces: they may quote user input. */
function endFailedSpan(span: Span, error: unknown): void {
  span.setAttribute('error.type', errorTypeOf(error))
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

function errorTypeOf(error: unknown): string {
  if (error instanceof ApiError) return codeName[error.code]
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code)) return code
  return error instanceof Error ? error.name : codeName[Code.UNKNOWN]
}

function samplerOf({ kind, parentBased, ratio }: SamplerSettings): Sampler {
  const root =
    kind === 'always_on'
      ? new AlwaysOnSampler()
      : kind === 'always_off'
        ? new AlwaysOffSampler()
        : new TraceIdRatioBasedSampler(ratio)
  return parentBased ? new ParentBasedSampler({ root }) : root
}

async function exporterOf(exporter: TracingSettings['exporter']): Promise<SpanExporter> {
  if (exporter === 'console') return new ConsoleSpanExporter()
  const { protocol, url, headers, timeoutMs, compression } = exporter
  const files = readOtlpFiles(exporter)
  const { OTLPTraceExporter } = await (protocol === 'http/json'
    ? import('@opentelemetry/exporter-trace-otlp-http')
    : import('@opentelemetry/exporter-trace-otlp-proto'))
  return new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: compression as NonNullable<OTLPExporterOptions['compression']>,
    httpAgentOptions: {
      keepAlive: true,
      ...files,
    },
  })
}

/** Logs why spans are lost, at most once a minute: a collector that is down fails every few seconds. */
function reportFailures(log: Log): void {
  let warnedMs = Number.NEGATIVE_INFINITY
  const warn = (problem: unknown) => {
    if (performance.now() - warnedMs < WARNING_INTERVAL_MS) return
    warnedMs = performance.now()
    log.warn(
      { problem: problem instanceof Error ? problem.message : String(problem) },
      'spans were not exported; requests are not affected. Check the collector and the OTEL_ variables',
    )
  }
  setGlobalErrorHandler(warn)
  const ignore = () => undefined
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { suppressOverrideMessage: true },
  )
}
