import type { AuthorizedScope, Grants } from './authorization.ts'
import type { Caller, IncomingCall } from './call.ts'
import type { LimitClass } from './limits/limit-table.ts'

/** What a handler gets as the proof that its request is authorized. `authorized`: the scope, if there is one. */
export interface Proof {
  readonly caller: Caller
  readonly authorized?: AuthorizedScope | undefined
}

/** What the pipeline knows of an operation. `P`: the proof that its handler takes. */
export interface Operation<P extends Proof = Proof> {
  /** In metrics, the access log and the audit log: `service/Method`. */
  readonly name: string
  /** Undefined: its calls are not limited. */
  readonly limitClass: LimitClass | undefined
  /** Who may call it; undefined: anyone, and the operation has no caller. */
  readonly access: OperationAccess<P> | undefined
  /** Calls are counted by identity, too: of version 1, to see who still uses it. */
  readonly isV1?: boolean
}

export type OperationAccess<P extends Proof> = GrantsAccess<P> | CallerAccess<P>

interface Authentication<C extends Caller> {
  /** Throws code 16. */
  authenticate(incoming: IncomingCall): C | Promise<C>
}

/** The grants of the caller decide. */
export interface GrantsAccess<P extends Proof> extends Authentication<Caller> {
  readonly decidedBy: 'grants'
  /**
   * Decides by the headers of a request; undefined if the message has to decide. Throws code 7 if no message could be allowed.
   * `pathScope`: what the path has in the place of the scope.
   */
  authorize(
    caller: Caller,
    grants: Grants,
    pathScope: string | undefined,
  ): P | undefined | Promise<P | undefined>
}

/** The caller decides, without grants: users have their own account and their own sessions. */
export interface CallerAccess<P extends Proof, C extends Caller = Caller> extends Authentication<C> {
  readonly decidedBy: 'caller'
  /** Throws code 7 or 16. */
  authorize(caller: C): P | Promise<P>
}

/** A call on its way through the pipeline. */
export class StartedCall<P extends Proof = Proof> {
  readonly operation: Operation<P>
  readonly incoming: IncomingCall
  readonly pathScope: string | undefined
  readonly startMs: number = performance.now()
  /** When the last of the headers' steps was done. */
  decidedMs: number = 0
  caller: Caller | undefined = undefined
  grants: Grants | undefined = undefined
  /** What the headers decided. */
  proof: P | undefined = undefined

  constructor(operation: Operation<P>, incoming: IncomingCall, pathScope: string | undefined) {
    this.operation = operation
    this.incoming = incoming
    this.pathScope = pathScope
  }
}
