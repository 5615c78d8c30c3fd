import { create } from '@bufbuild/protobuf'
import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from '#gen/grpc/health/v1/health_pb.js'
import { ApiError, Code } from '../core/errors.ts'
import type { StreamingCall, StreamingMethod } from './grpc-streaming.ts'

/** https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
export interface HealthService {
  readonly methods: readonly StreamingMethod[]
  /** What Check answers from now on, for the server and each of its services alike; watchers learn of it at once. */
  setServing(serving: boolean): void
}

/**
 * The service grpc.health.v1.Health. It begins as NOT_SERVING. It knows `''`, the server as a whole, and the services
 * named; for any other name Check is NOT_FOUND and Watch says SERVICE_UNKNOWN.
 */
export function healthService(serviceNames: readonly string[]): HealthService {
  const known = new Set(['', ...serviceNames])
  const watchers = new Set<() => void>()
  let serving = false
  const statusOf = (name: string) => {
    if (!known.has(name)) return HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN
    return serving ? HealthCheckResponse_ServingStatus.SERVING : HealthCheckResponse_ServingStatus.NOT_SERVING
  }
  const answer = (name: string) => create(HealthCheckResponseSchema, { status: statusOf(name) })

  const check = once<HealthCheckRequest>((call, { service }) => {
    if (!known.has(service)) {
      call.fail(new ApiError(Code.NOT_FOUND, 'Not found: the server has no such service'))
      return
    }
    call.send(answer(service))
    call.end()
  })
  const list = once((call) => {
    const statuses = Object.fromEntries([...known].map((name) => [name, answer(name)]))
    call.send(create(HealthListResponseSchema, { statuses }))
    call.end()
  })
  const watch = (call: StreamingCall) => {
    let notify: (() => void) | undefined
    const receiver = once<HealthCheckRequest>((_, { service }) => {
      notify = () => call.send(answer(service))
      notify()
      // What is not known now never will be: the services of a server do not change.
      if (known.has(service)) watchers.add(notify)
    })(call)
    return { ...receiver, closed: () => void (notify !== undefined && watchers.delete(notify)) }
  }

  return {
    methods: [
      { method: Health.method.check, open: check },
      { method: Health.method.list, open: list },
      { method: Health.method.watch, open: watch },
    ],
    setServing(value) {
      if (serving === value) return
      serving = value
      for (const notify of watchers) notify()
    },
  }
}

/** A method that takes exactly one message, and acts on it when the client has ended its side. */
function once<Request>(act: (call: StreamingCall, request: Request) => void) {
  return (call: StreamingCall) => {
    const received: Request[] = []
    return {
      message(request: unknown) {
        received.push(request as Request)
        if (received.length > 1) call.fail(notOneMessage())
      },
      halfClosed() {
        const [request] = received
        if (request === undefined) call.fail(notOneMessage())
        else act(call, request)
      },
    }
  }
}

function notOneMessage(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: the call carries exactly one message')
}
