import type { Identity_StaticKeys } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { identityCondition, oneOfDetail } from '../trust/match.ts'
import { textHint } from '../trust/match-hints.ts'
import { staticKeysExpireMs } from '../trust/relationship.ts'
import { staticKeySource } from '../trust/static-keys.ts'
import type { AssumeMethod } from './assume-method.ts'

/** The method for a token that is signed with a key stored with the identity, of an issuer without published keys. */
export function staticKeysMethod(
  stored: Identity_StaticKeys,
  {
    createdMs,
    clock,
    defaultAudiences,
  }: {
    /** When the identity was created. */
    readonly createdMs: number
    readonly clock: () => number
    /** Accepted if the identity names no audience. */
    readonly defaultAudiences: readonly string[]
  },
): AssumeMethod {
  const accepted = stored.audiences.length > 0 ? stored.audiences : defaultAudiences
  const expiresMs = staticKeysExpireMs(stored, createdMs)
  return {
    issuer: (issuer) => equalCondition('issuer', stored.issuer, issuer),
    keys: staticKeySource(stored.issuerKeys),
    claims(claims, check) {
      const now = clock()
      // Checked at use, independent of cleanup (R16).
      check(
        identityCondition('keys_expiration', now < expiresMs, () => ({
          expected: `keys that are valid at ${new Date(now).toISOString()}`,
          actual: `valid until ${new Date(expiresMs).toISOString()}`,
          hint: 'create a new identity with new keys',
        })),
      )
      check(equalCondition('subject', stored.subject, claims.subject))
      check(
        identityCondition(
          'audience',
          claims.audience.some((audience) => accepted.includes(audience)),
          () => oneOfDetail(accepted, claims.audience, ''),
        ),
      )
    },
  }
}

function equalCondition(name: string, expected: string, actual: string) {
  return identityCondition(name, expected === actual, () => ({
    expected,
    actual,
    hint: textHint(expected, actual),
  }))
}
