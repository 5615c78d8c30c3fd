import type { KeyObject } from 'node:crypto'
import type { PageTokens } from '../api/page-tokens.ts'
import type { UidGenerator } from '../api/uid.ts'
import type { Grants } from '../pipeline/authorization.ts'
import type { Caller } from '../pipeline/call.ts'
import type { Db, Tx } from './db.ts'

/** The dependencies of resources that store rows. */
export interface Store {
  readonly db: Db
  readonly pageTokens: PageTokens
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly uids: UidGenerator
  /** Encrypts secrets at rest (runtime/encryption.ts). */
  readonly secretsKey: KeyObject
  /** Returns the current grants of a caller, as a transaction reads them; undefined if its identity was deleted. */
  readonly grantsIn: (tx: Tx, caller: Caller) => Promise<Grants | undefined>
}
