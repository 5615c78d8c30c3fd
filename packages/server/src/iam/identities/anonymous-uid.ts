import { createHash } from 'node:crypto'
import type { Uid } from '../../api/uid.ts'

/**
 * The identity that stands for everybody without a token. What is bound to it is public; nobody can assume it, and only the registry
 * asks what it holds.
 */
export const ANONYMOUS_IDENTITY = createHash('sha256')
  .update('berth anonymous principal')
  .digest('hex')
  .slice(0, 40) as Uid
