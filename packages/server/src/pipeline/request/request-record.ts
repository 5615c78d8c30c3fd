import type { Code } from '../../api/errors.ts'

/** What the access log and traces record of one request. Each layer writes what it learns. */
export interface RequestRecord {
  /** Full RPC name, or operation of the registry or of a page, as in the audit log; undefined for documents. */
  method: string | undefined
  /** Template of the path, never its values: `/iam/v2beta1/groups/{uid=**}`. */
  route: string | undefined
  /** uid of the authenticated caller. */
  identity: string | undefined
  code: Code | undefined
  /** Bytes of the body that arrived. */
  bytesIn: number
  /** Bytes of the body that were handed to the connection. */
  bytesOut: number
  /** Runs a part of the request, so that spans and log lines in it belong to the request. */
  run<T>(work: () => T): T
}
