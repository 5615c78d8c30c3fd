import {
  GetGroupRequestSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import type { Bench, Result } from '../bench.ts'
import { someGroups } from '../dataset.ts'
import { grpcCall, grpcLoad } from '../grpc-load.ts'
import { shareOfCpu } from './share.ts'

const STREAMS = 64
const DIFFERENT = 1000

/** gRPC Get against a bare grpc-js server that sends the same bytes. */
export function measureGrpc(bench: Bench): Promise<Result[]> {
  return measureAgainst(bench, { work: 'grpc', script: 'grpc', name: 'grpc-js echo' })
}

/** gRPC Get against a bare connect-node server that sends the same group. */
export function measureConnect(bench: Bench): Promise<Result[]> {
  return measureAgainst(bench, { work: 'connect', script: 'connect', name: 'connect-node echo' })
}

async function measureAgainst(
  bench: Bench,
  {
    work,
    script,
    name,
  }: { readonly work: 'grpc' | 'connect'; readonly script: string; readonly name: string },
): Promise<Result[]> {
  const berth = await bench.startBerth(await bench.dataSet(bench.sizes.usual))
  const { token } = berth.ready
  const path = `/${GroupsService.typeName}/GetGroup`
  const messages = someGroups(bench.sizes.usual, DIFFERENT).map((uid) =>
    toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })),
  )
  const reply = await grpcCall({ port: berth.ready.port, path, token, messages })
  const bare = await bench.start<{ port: number }>(script, { path, base64: reply.toString('base64') })
  bench.say(`  ${reply.length} bytes a response`)
  const side = (title: string, child: typeof berth | typeof bare) => ({
    name: title,
    child,
    load: (seconds: number) => grpcLoad({ port: child.ready.port, path, token, messages }, STREAMS, seconds),
  })
  return [
    await shareOfCpu(
      bench,
      { work, title: `gRPC Get of a group, to a ${name}` },
      side('Berth', berth),
      side(name, bare),
    ),
  ]
}
