import type { Identity_StaticKeys } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { mismatch, oneOfDetail } from '../../trust/match.ts'
import { textHint } from '../../trust/match-hints.ts'
import { staticKeysExpireMs } from '../../trust/relationship.ts'
import { staticKeySource } from '../../trust/static-keys.ts'
import type { Way } from './way.ts'

/** A token that is signed with a key which is stored with the identity, of an issuer that nobody can ask. */
export function staticKeysWay(
  stored: Identity_StaticKeys,
  {
    createdMs,
    clock,
    defaultAudiences,
  }: {
    /** When the identity was created. */
    readonly createdMs: number
    readonly clock: () => number
    /** Accepted where the identity names no audience. */
    readonly defaultAudiences: readonly string[]
  },
): Way {
  const accepted = stored.audiences.length > 0 ? stored.audiences : defaultAudiences
  const expiresMs = staticKeysExpireMs(stored, createdMs)
  return {
    issuer: (issuer) => equal('issuer', stored.issuer, issuer),
    keys: staticKeySource(stored.issuerKeys),
    claims(claims, judge) {
      const now = clock()
      // When they are used, not when somebody sweeps (R16).
      judge(
        mismatch('keys_expiration', now < expiresMs, () => ({
          expected: `keys that are accepted at ${new Date(now).toISOString()}`,
          actual: `they are until ${new Date(expiresMs).toISOString()}`,
          hint: 'make a new identity with new keys',
        })),
      )
      judge(equal('subject', stored.subject, claims.subject))
      judge(
        mismatch(
          'audience',
          claims.audience.some((audience) => accepted.includes(audience)),
          () => oneOfDetail(accepted, claims.audience, ''),
        ),
      )
    },
  }
}

function equal(name: string, expected: string, actual: string) {
  return mismatch(name, expected === actual, () => ({
    expected,
    actual,
    hint: textHint(expected, actual),
  }))
}
