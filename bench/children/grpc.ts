import { Server, ServerCredentials } from '@grpc/grpc-js'
import { serveParent } from './control.ts'

/** Baseline: a grpc-js server that answers one method with the same bytes every time. */

const { path, base64 } = JSON.parse(process.argv[2] ?? '') as { path: string; base64: string }
const reply = Buffer.from(base64, 'base64')
const asIs = (bytes: Buffer) => bytes

const server = new Server()
server.addService(
  {
    call: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  },
  { call: (_: unknown, answer: (error: null, reply: Buffer) => void) => answer(null, reply) },
)
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  serveParent({ port }, {})
})
