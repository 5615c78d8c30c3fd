import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import {
  GetGroupRequestSchema,
  GroupSchema,
  GroupsService,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { serveParent } from './control.ts'

/** Baseline: a server of connect-node that decodes each request and encodes the same group every time. */

const { base64 } = JSON.parse(process.argv[2] ?? '') as { base64: string }
const group = fromBinary(GroupSchema, Buffer.from(base64, 'base64'))

const server = createServer(
  connectNodeAdapter({
    routes: (router) =>
      router.rpc(GroupsService.method.getGroup, ({ $typeName }) => {
        if ($typeName !== GetGroupRequestSchema.typeName) throw new Error($typeName)
        return group
      }),
  }),
)
server.listen(0, '127.0.0.1', () => {
  serveParent({ port: (server.address() as AddressInfo).port }, {})
})
