import {
  GetGroupRequestSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import type { Bench, Result } from '../bench.ts'
import { someGroups } from '../dataset.ts'
import { createFrameSource, grpcLoad } from '../grpc-load.ts'
import { cycle, httpLoad, request } from '../http-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'
import { CONNECTIONS, getPaths } from './rest-reads.ts'

const STREAMS = 64
const DIFFERENT = 1000

/** What traces and the access log cost: a server with them against one without, for the cheapest requests. */
export async function measureTraced(bench: Bench): Promise<Result[]> {
  const place = await bench.dataSet(bench.sizes.usual)
  // Takes what is exported, on the core of the load.
  const collector = await bench.start<{ port: number }>('http', { body: '' }, 'load')
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.ready.port}` }
  const lines = { BERTH_ACCESS_LOG: `${bench.scratch()}/access.log` }
  const variants: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'traces and access log off': {},
    'traces on': traces,
    'one in ten traces': { ...traces, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' },
    'access log on': lines,
    'traces and access log on': { ...traces, ...lines },
  }
  const servers: { readonly name: string; readonly child: Awaited<ReturnType<Bench['startBerth']>> }[] = []
  for (const [name, env] of Object.entries(variants))
    servers.push({ name, child: await bench.startBerth({ ...place, env }) })

  const path = `/${GroupsService.typeName}/GetGroup`
  const messages = someGroups(bench.sizes.usual, DIFFERENT).map((uid) =>
    toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })),
  )
  const rest = servers.map(({ name, child }): Side => {
    const { port, token } = child.ready
    const requests = getPaths(bench).map((path) => request('GET', path, { token }))
    return {
      name,
      child,
      load: (seconds) => httpLoad({ port, next: cycle(requests) }, CONNECTIONS, seconds),
    }
  })
  const grpc = servers.map(({ name, child }): Side => {
    const { port, token } = child.ready
    const next = createFrameSource(messages)
    return { name, child, load: (seconds) => grpcLoad({ port, path, token, next }, STREAMS, seconds) }
  })
  return [
    ...resultsOf('REST Get', await inTurn(bench, rest)),
    ...resultsOf('gRPC Get', await inTurn(bench, grpc)),
  ]
}

function resultsOf(what: string, [off, ...others]: readonly Measured[]): Result[] {
  if (off === undefined) return []
  return others.map((on) => ({
    work: 'traced',
    title: `${what}, ${on.name}, to one with both off`,
    value: off.cpuUs / on.cpuUs,
    unit: 'share',
    ours: on,
    theirs: off,
  }))
}
