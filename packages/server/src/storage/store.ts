import type { PageTokens } from '../api/page-tokens.ts'
import type { UidGenerator } from '../api/uid.ts'
import type { Grants } from '../pipeline/authorization.ts'
import type { Caller } from '../pipeline/call.ts'
import type { Db, Tx } from './db.ts'

/** What a resource needs to keep its rows. */
export interface Store {
  readonly db: Db
  readonly pageTokens: PageTokens
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly uids: UidGenerator
  /** Encrypts secrets at rest (core/sealed.ts). */
  readonly secretsKey: Uint8Array
  /** What a caller may do now, as a transaction sees it; undefined when its identity is gone. */
  readonly grantsIn: (tx: Tx, caller: Caller) => Promise<Grants | undefined>
}
