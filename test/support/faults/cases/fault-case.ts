import type { Shape, Site } from '../site/fault-site.ts'

/** One fault, and what must be true of it. */
export interface FaultCase {
  readonly name: string
  readonly shape: Shape
  /** Programs and rights without which it is skipped: a sentence, or false where it runs. */
  readonly skip?: string | false
  /** The fault lasts so long; default 10 s. */
  readonly durationMs?: number
  /** Starts the fault. Returns how it ends; a fault may end by itself before. */
  readonly inject: (site: Site) => Promise<() => Promise<void> | void>
  /**
   * What `/readyz` must report once nodes had time to notice: `no` where a node can neither read nor write, `yes` where it serves, `any` where both are
   * true.
   */
  readonly ready: 'yes' | 'no' | 'any'
  /** True where requests succeed again while the fault lasts: recovery is measured from its beginning. */
  readonly pathWorks?: true
  /** True where no request may fail at all. */
  readonly harmless?: true
  /** Nodes that the fault stops, freezes or ends: their requests fail without a reply, and they are neither asked nor stopped. */
  readonly nodesLost?: readonly number[]
  /**
   * True where the database loses what it wrote last: an upload that is not finished may be unknown then, since its row is committed without
   * waiting for the disk.
   */
  readonly losesUploads?: true
  /** Codes that are true of this fault besides those that ask a client to retry. */
  readonly acceptedContradictions?: RegExp
  /** False: no node is stopped (SIGTERM) while the fault lasts. */
  readonly stopsNode?: false
}

/** Codes that are true of any fault: the client is asked to retry, or the disk is full. */
export const retryable = /^(rest|exchange|oci) (503|409|429|507)(\/(14|8|10))?$|^grpc (14|8|10)$/
