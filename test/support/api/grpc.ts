import { type Status, StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'

export interface GrpcCallOptions {
  readonly token?: string
  readonly deadlineMs?: number
  /** Cancels the call. */
  readonly signal?: AbortSignal
  /** Metadata to send besides the token. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Is given the initial metadata of the answer. */
  readonly onMetadata?: (metadata: Metadata) => void
}

/** A gRPC client of an independent implementation, typed by the schema. */
export interface GrpcClient {
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options?: GrpcCallOptions,
  ): Promise<MessageShape<O>>
  close(): void
}

/** A failed call, with the details that came in `grpc-status-details-bin`. */
export interface GrpcFailure extends ServiceError {
  readonly status: Status | undefined
}

/** @param certificate PEM of the server's certificate; required by an https URL */
export function grpcClient(url: string, certificate?: string): GrpcClient {
  const client = new Client(
    new URL(url).host,
    certificate === undefined
      ? credentials.createInsecure()
      : credentials.createSsl(Buffer.from(certificate)),
  )
  return {
    call(method, request, { token, deadlineMs, signal, metadata: more = {}, onMetadata } = {}) {
      const metadata = new Metadata()
      for (const [name, value] of Object.entries(more)) metadata.set(name, value)
      if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
      return new Promise((resolve, reject) => {
        const running = client.makeUnaryRequest(
          `/${method.parent.typeName}/${method.name}`,
          (message: MessageShape<typeof method.input>) => Buffer.from(toBinary(method.input, message)),
          (bytes: Buffer) => fromBinary(method.output, bytes),
          create(method.input, request),
          metadata,
          deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs },
          (error, reply) => {
            if (error === null && reply !== undefined) resolve(reply)
            else
              reject(
                Object.assign(error ?? new Error('no reply'), {
                  status: error === null ? undefined : statusOf(error),
                }),
              )
          },
        )
        signal?.addEventListener('abort', () => running.cancel())
        if (onMetadata !== undefined) running.on('metadata', onMetadata)
      })
    },
    close: () => client.close(),
  }
}

function statusOf(error: ServiceError): Status | undefined {
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  return bytes === undefined ? undefined : fromBinary(StatusSchema, Buffer.from(bytes))
}
