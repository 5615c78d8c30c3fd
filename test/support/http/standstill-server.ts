import { once } from 'node:events'
import { connect } from 'node:net'
import { inspect } from 'node:util'
import { GroupSchema, GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { createGrpcHandler } from '@berth/server/gateway/grpc/handler.ts'
import { createHealthService } from '@berth/server/gateway/grpc/health.ts'
import { createRestHandler } from '@berth/server/gateway/rest/handler.ts'
import { listen } from '@berth/server/port/listen.ts'
import { create } from '@bufbuild/protobuf'
import { allowAll } from '../api/allow-all-pipeline.ts'
import { selfSignedCertificate } from './certificate.ts'
import { RESETS_PER_SECOND, type StandstillServerUrls } from './standstill-limits.ts'

// A server in a process of its own, which a test can stop and continue. Its arguments are the limit of all times and the port of a backend. It
// sends its addresses to its parent.

const limitMs = Number(process.argv[2])
const backendPort = Number(process.argv[3])
const limits = {
  idleConnectionMs: limitMs,
  headersTimeoutMs: limitMs,
  requestTimeoutMs: limitMs,
  handlerTimeoutMs: limitMs,
  protocolTimeoutMs: limitMs,
  http2ResetsBurst: RESETS_PER_SECOND,
  http2ResetsPerSecond: RESETS_PER_SECOND,
}
const log = {
  error: (fields: object, message: string) => process.stderr.write(`${message} ${inspect(fields)}\n`),
  debug() {},
}

/** The group `waiting` waits for the backend, as for a database. */
const authorizeHeaders = allowAll(async (_method, message) => {
  const { uid } = message as unknown as { uid: string }
  if (uid === 'waiting') {
    const socket = connect(backendPort, '127.0.0.1')
    await once(socket, 'data')
    socket.destroy()
  }
  return create(GroupSchema, { uid })
})
const common = { authorizeHeaders, services: [GroupsService], errorDomain: 'test.example', log }
const health = createHealthService([])
health.setServing(true)
const start = (tls?: { readonly cert: string; readonly key: string }) =>
  listen({
    host: '127.0.0.1',
    port: 0,
    tls,
    http: createRestHandler({ ...common, handlerTimeoutMs: limitMs }),
    grpc: createGrpcHandler({ ...common, streaming: health.methods, limits }),
    errorDomain: common.errorDomain,
    log,
    limits,
  })
const plain = await start()
const secure = await start(selfSignedCertificate())
process.send?.({ plain: plain.url, tls: secure.url } satisfies StandstillServerUrls)
