import { requireValid } from '../../api/fields.ts'
import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { nameShare } from '../../pipeline/request/request-context.ts'
import type { Reader } from '../../storage/db.ts'
import { checkIssuer } from '../../tokens/trust/issuer-url.ts'
import { userUid } from './user-uid.ts'

/** Further generations of one user to look up in one statement: few users are deleted and return. */
const GENERATIONS_AT_ONCE = 16

/**
 * Returns the uid of a user's identity, or the one that it will get: the first generation that no deleted identity used. Throws code 3 for
 * an invalid issuer or subject.
 */
export async function lookupUser(db: Reader, issuer: string, subject: string): Promise<Uid> {
  requireValid(checkIssuerName(issuer), checkSubject(subject))
  nameShare(userUid(issuer, subject, 0))
  // The first one alone: the others may be on other servers of a distributed database.
  for (let from = 0, count = 1; ; from += count, count = GENERATIONS_AT_ONCE) {
    const uids = Array.from({ length: count }, (_, at) => userUid(issuer, subject, from + at))
    const deleted = await db
      .selectFrom('tombstones')
      .select('uid')
      .where('root', 'in', uids)
      .where('uid', 'in', uids)
      .execute()
    const free = uids.find((uid) => !deleted.some((row) => row.uid === uid))
    if (free !== undefined) return free
  }
}

function checkIssuerName(issuer: string) {
  const problem = issuer === '' ? 'is required' : checkIssuer(issuer)
  return problem === undefined ? undefined : { field: 'issuer', description: problem }
}

function checkSubject(subject: string) {
  if (subject === '') return { field: 'subject', description: 'is required' }
  return subject.length > limits.claimCharsMax
    ? { field: 'subject', description: `must have at most ${limits.claimCharsMax} characters` }
    : undefined
}
