import { createHash } from 'node:crypto'
import type { Uid } from '../../api/uid.ts'

/**
 * Returns the uid of a user's identity: it is derived from issuer and subject, so it is known before the first sign-in. uids are never
 * reused (R23), so a user who was deleted gets the uid of the next `generation`, counted from 0.
 */
export function userUid(issuer: string, subject: string, generation: number): Uid {
  // As JSON, because two different pairs could concatenate to the same text.
  const name = JSON.stringify([issuer, subject, generation])
  return createHash('sha256').update(`berth user ${name}`).digest('hex').slice(0, 40) as Uid
}
