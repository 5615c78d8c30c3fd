/** Tracing as the standard variables of OpenTelemetry set it (its specification, "Environment Variable Specification"). */

export interface TracingSettings {
  readonly exporter: 'console' | OtlpSettings
  /** Attributes of the resource, `service.name` among them if it is set. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerSettings
  /** Whether traces continue across processes. */
  readonly propagates: boolean
  readonly batch: BatchSettings
}

export interface OtlpSettings {
  readonly protocol: (typeof protocols)[number]
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly compression: (typeof compressions)[number]
  /** PEM files. */
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

export interface SamplerSettings {
  readonly kind: 'always_on' | 'always_off' | 'traceidratio'
  readonly parentBased: boolean
  /** 0 to 1. */
  readonly ratio: number
}

/** Spans that wait for export. */
export interface BatchSettings {
  readonly delayMs: number
  readonly timeoutMs: number
  readonly queueMax: number
  readonly batchMax: number
}

/** What help says of each. The other variables of OpenTelemetry have no effect. */
export const tracingVariables = {
  OTEL_SDK_DISABLED: 'true: no traces, whatever else is set (default false)',
  OTEL_TRACES_EXPORTER:
    'otlp, console or none (default: otlp with an endpoint, none without one, so tracing is off)',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'address of an OpenTelemetry collector, such as http://127.0.0.1:4318',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'whole URL for traces (default: the endpoint with /v1/traces)',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf or http/json (default http/protobuf)',
  OTEL_EXPORTER_OTLP_HEADERS: 'headers for the collector, such as api-key=secret,other=value (default none)',
  OTEL_EXPORTER_OTLP_TIMEOUT: 'milliseconds for one export (default 10000)',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip or none (default none)',
  OTEL_EXPORTER_OTLP_CERTIFICATE: 'PEM file with the certificate authority of the collector',
  OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: 'PEM file with the certificate that is shown to the collector',
  OTEL_EXPORTER_OTLP_CLIENT_KEY: 'PEM file with its private key',
  OTEL_SERVICE_NAME: 'service.name of traces (default berth)',
  OTEL_RESOURCE_ATTRIBUTES: 'attributes of the server, such as deployment.environment.name=production',
  OTEL_TRACES_SAMPLER:
    'always_on, always_off, traceidratio, or one of them after parentbased_ (default parentbased_always_on)',
  OTEL_TRACES_SAMPLER_ARG: 'share of traces for traceidratio, 0 to 1 (default 1)',
  OTEL_PROPAGATORS:
    'tracecontext: continue the traces of clients; none: start new ones (default tracecontext)',
  OTEL_BSP_SCHEDULE_DELAY: 'milliseconds between two exports (default 5000)',
  OTEL_BSP_EXPORT_TIMEOUT: 'milliseconds after which an export is given up (default 30000)',
  OTEL_BSP_MAX_QUEUE_SIZE: 'spans that wait for export; more are dropped (default 2048)',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: 'spans of one export (default 512)',
} as const

const protocols = ['http/protobuf', 'http/json'] as const
const compressions = ['none', 'gzip'] as const
const exporters = ['otlp', 'console', 'none'] as const
const samplers = ['always_on', 'always_off', 'traceidratio'] as const
const DEFAULT_ENDPOINT = 'http://localhost:4318'

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The settings, undefined where tracing is off: without OTEL_TRACES_EXPORTER and without an endpoint. Calls `problem` with a sentence
 * for each variable that is wrong. Where tracing is off, only what turns it on or off is checked.
 */
export function readTracingSettings(
  env: Environment,
  reportProblem: (sentence: string) => void,
): TracingSettings | undefined {
  const text = (name: string) => {
    const value = env[name]?.trim()
    return value === '' ? undefined : value
  }
  /** The variable for traces, else that for all signals. */
  const otlp = (rest: string) => {
    const own = `OTEL_EXPORTER_OTLP_TRACES_${rest}`
    const name = text(own) === undefined ? `OTEL_EXPORTER_OTLP_${rest}` : own
    return { name, value: text(name) }
  }
  const oneOf = <T extends string>(name: string, values: readonly T[], value = text(name)): T | undefined => {
    const known = values.find((one) => one === value)
    if (value !== undefined && known === undefined)
      reportProblem(`${name} must be one of ${values.join(', ')}`)
    return known
  }
  const count = (name: string, fallback: number, value = text(name)) => {
    if (value === undefined) return fallback
    if (/^[1-9][0-9]{0,8}$/.test(value)) return Number(value)
    reportProblem(`${name} must be a whole number above 0`)
    return fallback
  }
  const pairs = (name: string, value = text(name)): Record<string, string> => {
    const read = parsePairs(value ?? '')
    // Values may be secrets.
    if (read === undefined)
      reportProblem(`${name} must be NAME=VALUE pairs, separated by commas, with percent escapes`)
    return read ?? {}
  }

  const disabled = oneOf('OTEL_SDK_DISABLED', ['true', 'false'], text('OTEL_SDK_DISABLED')?.toLowerCase())
  if (disabled === 'true') return undefined
  const endpoint = otlp('ENDPOINT')
  const exporter =
    oneOf('OTEL_TRACES_EXPORTER', exporters) ?? (endpoint.value === undefined ? 'none' : 'otlp')
  if (exporter === 'none') return undefined

  const otlpSettings = (): OtlpSettings => {
    const protocol = otlp('PROTOCOL')
    if (protocol.value === 'grpc')
      reportProblem(
        `${protocol.name}: berth exports by HTTP alone; set http/protobuf and port 4318 of the collector`,
      )
    const certFile = otlp('CLIENT_CERTIFICATE').value
    const keyFile = otlp('CLIENT_KEY').value
    if ((certFile === undefined) !== (keyFile === undefined))
      reportProblem(
        'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY must be set together',
      )
    const timeout = otlp('TIMEOUT')
    const compression = otlp('COMPRESSION')
    return {
      protocol:
        (protocol.value !== 'grpc' && oneOf(protocol.name, protocols, protocol.value)) || 'http/protobuf',
      url: urlOf(endpoint),
      headers: {
        ...pairs('OTEL_EXPORTER_OTLP_HEADERS'),
        ...pairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS'),
      },
      timeoutMs: count(timeout.name, 10_000, timeout.value),
      compression: oneOf(compression.name, compressions, compression.value) ?? 'none',
      caFile: otlp('CERTIFICATE').value,
      certFile,
      keyFile,
    }
  }
  const urlOf = ({ name, value }: { readonly name: string; readonly value: string | undefined }) => {
    const url = URL.parse(value ?? DEFAULT_ENDPOINT)
    if (url === null || !/^https?:$/.test(url.protocol)) {
      reportProblem(`${name} must be an http or https URL`)
      return DEFAULT_ENDPOINT
    }
    return name.includes('_TRACES_') ? url.href : `${url.href.replace(/\/$/, '')}/v1/traces`
  }

  const sampler = oneOf(
    'OTEL_TRACES_SAMPLER',
    samplers.flatMap((one) => [one, `parentbased_${one}` as const]),
  )
  const queueMax = count('OTEL_BSP_MAX_QUEUE_SIZE', 2048)
  const batchMax = count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', Math.min(512, queueMax))
  if (batchMax > queueMax)
    reportProblem('OTEL_BSP_MAX_EXPORT_BATCH_SIZE must not exceed OTEL_BSP_MAX_QUEUE_SIZE')
  const resource = pairs('OTEL_RESOURCE_ATTRIBUTES')
  const serviceName = text('OTEL_SERVICE_NAME')
  return {
    exporter: exporter === 'console' ? 'console' : otlpSettings(),
    resource: { ...resource, ...(serviceName !== undefined && { 'service.name': serviceName }) },
    sampler: {
      kind: samplers.find((one) => sampler?.endsWith(one)) ?? 'always_on',
      parentBased: sampler === undefined || sampler.startsWith('parentbased_'),
      ratio: parseRatio(text('OTEL_TRACES_SAMPLER_ARG'), reportProblem),
    },
    propagates: parsePropagators(text('OTEL_PROPAGATORS'), reportProblem),
    batch: {
      delayMs: count('OTEL_BSP_SCHEDULE_DELAY', 5000),
      timeoutMs: count('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
      queueMax,
      batchMax,
    },
  }
}

function parseRatio(value: string | undefined, reportProblem: (sentence: string) => void): number {
  if (value === undefined) return 1
  const ratio = Number(value)
  if (/^[0-9.]+$/.test(value) && ratio <= 1) return ratio
  reportProblem('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')
  return 1
}

/** Baggage is accepted, since it is in the default of the specification, and not read. */
function parsePropagators(value: string | undefined, reportProblem: (sentence: string) => void): boolean {
  const names = (value ?? 'tracecontext').split(',').map((name) => name.trim())
  const unknown = names.find((name) => !['tracecontext', 'baggage', 'none'].includes(name))
  if (unknown !== undefined) reportProblem('OTEL_PROPAGATORS must be one of tracecontext, baggage, none')
  return names.includes('tracecontext')
}

/** `key1=value1,key2=value2` with percent escapes; undefined where that is not what it is. */
function parsePairs(text: string): Record<string, string> | undefined {
  const found: Record<string, string> = {}
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue
    const [, name = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
    if (name === '') return undefined
    try {
      found[decodeURIComponent(name)] = decodeURIComponent(value)
    } catch {
      return undefined
    }
  }
  return found
}
