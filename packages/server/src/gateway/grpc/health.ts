import {
  Health,
  type HealthCheckRequest,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from '@berth/contract/gen/grpc/health/v1/health_pb.js'
import { create } from '@bufbuild/protobuf'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { type PeriodicTask, startPeriodicTask } from '../../runtime/periodic-task.ts'
import type { StreamingCall, StreamingMethod } from './streaming.ts'

/** https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
export interface HealthService {
  readonly methods: readonly StreamingMethod[]
  /** Sets the response of Check for the server and all its services; watchers receive it immediately. */
  setServing(serving: boolean): void
}

/**
 * The service grpc.health.v1.Health. It starts as NOT_SERVING. It knows `''`, the server as a whole, and the services
 * named; for any other name Check is NOT_FOUND and Watch says SERVICE_UNKNOWN. `isReady` must not reject: Check and List ask it for each
 * call, and Watch every `limits.healthWatchMs` while calls are open.
 */
export function createHealthService(
  serviceNames: readonly string[],
  isReady: () => Promise<boolean> = async () => true,
): HealthService {
  const known = new Set(['', ...serviceNames])
  const watchers = new Set<() => void>()
  let isStarted = false
  let serving = false
  let polling: PeriodicTask | undefined
  const update = async () => {
    const now = isStarted && (await isReady()) && isStarted
    if (serving === now) return
    serving = now
    for (const notify of watchers) notify()
  }
  const addWatcher = (notify: () => void) => {
    watchers.add(notify)
    polling ??= startPeriodicTask(limits.healthWatchMs, update, () => undefined)
  }
  const removeWatcher = (notify: () => void) => {
    watchers.delete(notify)
    if (watchers.size > 0) return
    void polling?.stop()
    polling = undefined
  }
  const statusOf = (name: string) => {
    if (!known.has(name)) return HealthCheckResponse_ServingStatus.SERVICE_UNKNOWN
    return serving ? HealthCheckResponse_ServingStatus.SERVING : HealthCheckResponse_ServingStatus.NOT_SERVING
  }
  const responseFor = (name: string) => create(HealthCheckResponseSchema, { status: statusOf(name) })

  const check = singleMessageMethod<HealthCheckRequest>(async (call, { service }) => {
    if (!known.has(service)) {
      call.fail(new ApiError(Code.NOT_FOUND, 'Not found: unknown service'))
      return
    }
    await update()
    call.send(responseFor(service))
    call.end()
  })
  const list = singleMessageMethod(async (call) => {
    await update()
    const statuses = Object.fromEntries([...known].map((name) => [name, responseFor(name)]))
    call.send(create(HealthListResponseSchema, { statuses }))
    call.end()
  })
  const watch = (call: StreamingCall) => {
    let notify: (() => void) | undefined
    const receiver = singleMessageMethod<HealthCheckRequest>((_, { service }) => {
      notify = () => call.send(responseFor(service))
      notify()
      // What is not known now never will be: the services of a server do not change.
      if (known.has(service)) addWatcher(notify)
      void update()
    })(call)
    return { ...receiver, closed: () => void (notify !== undefined && removeWatcher(notify)) }
  }

  return {
    methods: [
      { method: Health.method.check, longLived: false, open: check },
      { method: Health.method.list, longLived: false, open: list },
      { method: Health.method.watch, longLived: true, open: watch },
    ],
    setServing(value) {
      isStarted = value
      void update()
    },
  }
}

/** A method that takes exactly one message, and acts on it when the client has ended its side. */
function singleMessageMethod<Request>(act: (call: StreamingCall, request: Request) => void | Promise<void>) {
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
        else void act(call, request)
      },
    }
  }
}

function notOneMessage(): ApiError {
  return new ApiError(Code.UNIMPLEMENTED, 'Unimplemented: the call carries exactly one message')
}
