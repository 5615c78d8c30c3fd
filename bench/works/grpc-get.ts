import {
  GetGroupRequestSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create, toBinary } from '@bufbuild/protobuf'
import type { Bench, Result } from '../bench.ts'
import { everyGroup, someGroups } from '../dataset.ts'
import { goals } from '../goals.ts'
import { createFrameSource, grpcCall, grpcLoad } from '../grpc-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'
import { shareOf } from './share.ts'

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
  const requests = (uids: readonly string[]) =>
    createFrameSource(
      uids.map((uid) => toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid }))),
    )
  const repeated = requests(someGroups(bench.sizes.usual, DIFFERENT))
  // More groups than a server caches.
  const notRepeated = requests(everyGroup(bench.sizes.usual))
  const reply = await grpcCall({ port: berth.ready.port, path, token, next: repeated })
  const bare = await bench.start<{ port: number }>(script, { path, base64: reply.toString('base64') })
  bench.say(`  ${reply.length} bytes a response`)
  const side = (title: string, child: typeof berth | typeof bare, next: () => Buffer): Side => ({
    name: title,
    child,
    load: (seconds) => grpcLoad({ port: child.ready.port, path, token, next }, STREAMS, seconds),
  })
  const [cached, uncached, base] = (await inTurn(bench, [
    side('Berth, repeated', berth, repeated),
    side('Berth, not repeated', berth, notRepeated),
    side(name, bare, repeated),
  ])) as [Measured, Measured, Measured]
  const title = `gRPC Get of a group, to a ${name}`
  return [
    shareOf({ work, title, goal: goals[work] }, cached, base),
    shareOf({ work, title: `${title}, not repeated` }, uncached, base),
  ]
}
