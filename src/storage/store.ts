import type { PageTokens } from '../core/page.ts'
import type { UidSource } from '../core/uid.ts'
import type { Db } from './db.ts'

/** What a resource needs to keep its rows. */
export interface Store {
  readonly db: Db
  readonly pageTokens: PageTokens
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly uids: UidSource
  /** Encrypts secrets at rest (core/sealed.ts). */
  readonly secretsKey: Uint8Array
}
