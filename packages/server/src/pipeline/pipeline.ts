import { Code } from '../api/errors.ts'
import type { Tracer } from '../runtime/tracer.ts'
import type { IncomingCall } from './call.ts'
import { createObserver, type ObservationOptions } from './observation.ts'
import { type Operation, type Proof, StartedCall } from './operation.ts'
import { createSteps, type Step, type StepOptions, type Steps, takeSteps } from './steps.ts'

/**
 * The request pipeline. Each request of each protocol takes the same steps in the same order: limits, authentication, authorization,
 * handler, observation. The headers are checked before a byte of the body is read (R28). Adapters translate between a protocol and
 * these steps: methods.ts for REST and gRPC, registry/oci, advisories/publish, signin/pages.
 */

export interface PipelineOptions extends Omit<StepOptions, 'deny'>, ObservationOptions {
  readonly tracer?: Tracer | undefined
}

/**
 * `limitAddress` counts a call for its address, once. `limitVerifiedIdentity` counts it for the identity that the handler of an open operation has
 * verified. Both throw code 8. `requireGrants` reads what a caller may do; throws code 16 if its identity or session does not exist any more.
 */
export interface Pipeline extends Pick<Steps, 'limitAddress' | 'limitVerifiedIdentity' | 'requireGrants'> {
  /** Checks and authorizes a request by its headers. Synchronous if nothing has to be waited for. Throws code 7, 8 or 16. */
  start<P extends Proof>(
    operation: Operation<P>,
    incoming: IncomingCall,
    pathScope?: string,
  ): StartedCall<P> | Promise<StartedCall<P>>
  /** Runs the rest of a started call and observes its end. `codeOf`: for results that can be failures. */
  finish<R>(call: StartedCall, work: () => Promise<R>, codeOf?: (result: R) => Code): Promise<R>
  /** Runs a handler, and records a denial. `scopeOf`: the scope that the request names. */
  handle<R>(call: StartedCall, scopeOf: () => string | undefined, handler: () => Promise<R>): Promise<R>
  /** Runs a whole call whose headers decide everything. */
  run<P extends Proof, R>(
    operation: Operation<P>,
    incoming: IncomingCall,
    handler: (proof: P) => Promise<R>,
    pathScope?: string,
  ): Promise<R>
  /** Observes a request that fails before its operation starts, and fails with it. */
  reject(operation: Operation, incoming: IncomingCall, failure: unknown, startMs: number): never
}

export function createPipeline(options: PipelineOptions): Pipeline {
  const { tracer } = options
  const { deny, end, fail } = createObserver(options)
  const steps = createSteps({ ...options, deny })
  const { countAddress, authenticate, countCaller, loadGrants, authorizeByGrants, authorizeCaller } = steps

  /** Order of the steps, by what authorizes the operation. */
  const order: Readonly<Record<'anyone' | 'caller' | 'grants', readonly Step[]>> = {
    anyone: [countAddress],
    caller: [countAddress, authenticate, countCaller, authorizeCaller],
    grants: [countAddress, authenticate, countCaller, loadGrants, authorizeByGrants],
  }

  const checkHeaders = (call: StartedCall): StartedCall | Promise<StartedCall> => {
    const waiting = takeSteps(call, order[call.operation.access?.decidedBy ?? 'anyone'])
    if (waiting === undefined) return call
    return waiting.then(
      () => call,
      (failure: unknown) => fail(call, failure, call.startMs),
    )
  }

  const start = (operation: Operation, incoming: IncomingCall, pathScope?: string) => {
    const call = new StartedCall(operation, incoming, pathScope)
    if (incoming.record !== undefined) incoming.record.method = operation.name
    try {
      return tracer === undefined
        ? checkHeaders(call)
        : tracer.span('authorize', {}, () => checkHeaders(call))
    } catch (failure) {
      return fail(call, failure, call.startMs)
    }
  }

  const handle: Pipeline['handle'] = async (call, scopeOf, handler) => {
    try {
      return await handler()
    } catch (failure) {
      return deny(call, scopeOf(), failure)
    }
  }

  const finish: Pipeline['finish'] = async (call, work, codeOf = () => Code.OK) => {
    // Waiting for the body is the client's time.
    const startMs = performance.now() - (call.decidedMs - call.startMs)
    try {
      const result = await work()
      end(call, codeOf(result), startMs)
      return result
    } catch (failure) {
      return fail(call, failure, startMs)
    }
  }

  return {
    ...steps,
    start: start as Pipeline['start'],
    handle,
    finish,
    async run(operation, incoming, handler, pathScope) {
      const call = await start(operation, incoming, pathScope)
      const { proof } = call
      if (proof === undefined) throw new Error(`the headers do not decide ${operation.name}`)
      const scopeOf = () => pathScope
      return finish(call, () => handle(call, scopeOf, () => handler(proof as never)))
    },
    reject: (operation, incoming, failure, startMs) =>
      fail({ operation, incoming, caller: undefined }, failure, startMs),
  }
}
