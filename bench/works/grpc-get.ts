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

/** gRPC Get against a bare grpc-js server that answers the same bytes. */
export async function measureGrpc(bench: Bench): Promise<Result[]> {
  const berth = await bench.startBerth(await bench.dataSet(bench.sizes.usual))
  const { token } = berth.ready
  const path = `/${GroupsService.typeName}/GetGroup`
  const messages = someGroups(bench.sizes.usual, DIFFERENT).map((uid) =>
    toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid })),
  )
  const reply = await grpcCall({ port: berth.ready.port, path, token, messages })
  const bare = await bench.start<{ port: number }>('grpc', { path, base64: reply.toString('base64') })
  bench.say(`  ${reply.length} bytes an answer`)
  const side = (name: string, child: typeof berth | typeof bare) => ({
    name,
    child,
    load: (seconds: number) => grpcLoad({ port: child.ready.port, path, token, messages }, STREAMS, seconds),
  })
  return [
    await shareOfCpu(
      bench,
      { work: 'grpc', title: 'gRPC Get of a group' },
      side('Berth', berth),
      side('grpc-js echo', bare),
    ),
  ]
}
