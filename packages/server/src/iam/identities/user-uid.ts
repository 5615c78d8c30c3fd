import { createHash } from 'node:crypto'
import type { Uid } from '../../api/uid.ts'

/**
 * The uid that a person's identity has: it follows from how their sign-in names them, so that it is known before they come for the
 * first time. uids are never given twice (R23), so somebody who was deleted comes back under the next `generation`, from 0 up.
 */
export function userUid(issuer: string, subject: string, generation: number): Uid {
  // As JSON, since plain text put together would let one pair look like another.
  const name = JSON.stringify([issuer, subject, generation])
  return createHash('sha256').update(`berth user ${name}`).digest('hex').slice(0, 40) as Uid
}
