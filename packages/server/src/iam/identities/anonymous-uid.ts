import { createHash } from 'node:crypto'
import type { Uid } from '../../api/uid.ts'

/**
 * The identity of all callers without a token. What is bound to it is public; it cannot be assumed, and only the registry reads its grants.
 */
export const ANONYMOUS_IDENTITY = createHash('sha256')
  .update('berth anonymous principal')
  .digest('hex')
  .slice(0, 40) as Uid
