import { PingService, ResponseSchema } from '@berth/contract/gen/chainguard/platform/ping/ping_pb.js'
import { create } from '@bufbuild/protobuf'
import { implement } from '../pipeline/call.ts'

/** Ping of version 1. A method without a caller has no translator: it has its own handler. */
export const pingService = implement(PingService, {
  ping: async () => create(ResponseSchema, { response: 'pong' }),
})
