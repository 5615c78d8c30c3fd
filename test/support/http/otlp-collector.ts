import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createFileRegistry, type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { eventually } from '../eventually.ts'
import type { Cleanup } from '../server/process.ts'

/** Receives traces over OTLP/HTTP, decodes them with the types of otlp/trace.proto, and keeps what it got. */
export interface OtlpCollector {
  /** `http://`, address and port. */
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** All exported bytes, as text in which what was sent can be searched for. */
  text(): string
  /** Of each export. */
  readonly headers: readonly IncomingHttpHeaders[]
  /** Attributes of the resource of the last export. */
  resource(): Attributes
  /** Waits until spans that pass are there; fails with all of them. */
  until(what: string, holds: (spans: readonly ReceivedSpan[]) => boolean): Promise<void>
  /** Exports are left without a response until it is called; then all that waits is answered. */
  hold(): () => void
  /** Exports that wait for a response. */
  readonly held: readonly ServerResponse[]
}

export type Attributes = Readonly<Record<string, string | boolean>>

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** '' for the first span of a trace. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly attributes: Attributes
  readonly events: number
  readonly failed: boolean
  readonly message: string
}

let schema: Promise<DescMessage> | undefined

/** Compiles the schema with buf, which comes with the packages of this project. */
async function loadSchema(): Promise<DescMessage> {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const { stdout } = await promisify(execFile)(
    at('../../../node_modules/.bin/buf'),
    ['build', at('otlp'), '-o', '-'],
    { encoding: 'buffer' },
  )
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout))
  const found = registry.getMessage('otlp.ExportTraceServiceRequest')
  if (found === undefined) throw new Error('otlp/trace.proto has no ExportTraceServiceRequest')
  return found
}

export async function startCollector(t: Cleanup, { port = 0 } = {}): Promise<OtlpCollector> {
  schema ??= loadSchema()
  const request = await schema
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const headers: IncomingHttpHeaders[] = []
  const held: ServerResponse[] = []
  let resource: Attributes = {}
  let isHolding = false
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  const server = createServer((asked, response) => {
    void asked.toArray().then((pieces) => {
      if (asked.method !== 'POST' || asked.url !== '/v1/traces') return response.writeHead(404).end()
      headers.push(asked.headers)
      const body = Buffer.concat(pieces)
      bodies.push(body)
      const isJson = asked.headers['content-type'] === 'application/json'
      const read = isJson ? JSON.parse(body.toString()) : toJson(request, fromBinary(request, body))
      for (const one of (read as Exported).resourceSpans ?? []) {
        resource = attributesOf(one.resource?.attributes)
        for (const { spans: some = [] } of one.scopeSpans ?? [])
          spans.push(...some.map((span) => spanOf(span, isJson)))
      }
      if (isHolding) held.push(response)
      else answer(response)
      return undefined
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    held,
    text: () => bodies.map((body) => body.toString('latin1')).join('\n'),
    resource: () => resource,
    async until(what, holds) {
      try {
        await eventually(() => holds(spans))
      } catch (error) {
        const seen = spans.map(({ name, attributes }) => `${name} ${JSON.stringify(attributes)}`)
        throw new Error(`no span: ${what}; there are\n${seen.join('\n')}`, { cause: error })
      }
    },
    hold() {
      isHolding = true
      return () => {
        isHolding = false
        for (const response of held.splice(0)) answer(response)
      }
    },
  }
}

interface Exported {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly ExportedAttribute[] }
    readonly scopeSpans?: readonly { readonly spans?: readonly ExportedSpan[] }[]
  }[]
}

interface ExportedAttribute {
  readonly key: string
  readonly value?: Readonly<Record<string, JsonValue>>
}

interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind?: number
  readonly attributes?: readonly ExportedAttribute[]
  readonly events?: readonly unknown[]
  readonly status?: { readonly code?: number; readonly message?: string }
}

/** OTLP/JSON has ids in hex, protobuf's JSON in base64. */
function spanOf(span: ExportedSpan, isJson: boolean): ReceivedSpan {
  const hex = (id = '') => (isJson ? id : Buffer.from(id, 'base64').toString('hex'))
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    traceState: span.traceState ?? '',
    name: span.name,
    kind: span.kind ?? 0,
    attributes: attributesOf(span.attributes),
    events: span.events?.length ?? 0,
    failed: span.status?.code === 2,
    message: span.status?.message ?? '',
  }
}

function attributesOf(attributes: readonly ExportedAttribute[] = []): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value = {} }) => {
      const [one = ''] = Object.values(value)
      return [key, typeof one === 'boolean' ? one : String(one)]
    }),
  )
}
