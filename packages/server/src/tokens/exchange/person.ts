import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { IdentityRow } from '../../storage/schema/tables.ts'
import { identityCondition, oneOfDetail, type SubjectClaims } from '../trust/match.ts'
import type { AssumeMethod } from './assume-method.ts'

/** Where people sign in, as far as an exchange needs to know it. */
export interface People {
  /** The providers that the operator offers to everybody. */
  readonly operatorProviders: readonly PeopleProvider[]
  /** An organization's provider as it is now; undefined when there is none (any more). */
  organizationProvider(uid: string): Promise<OrganizationProvider | undefined>
  /** The uid that a person's identity has, or will have when they sign in for the first time. */
  uidOf(issuer: string, subject: string): Promise<string>
}

export interface PeopleProvider {
  readonly issuer: string
  /** What the provider calls this installation; its tokens for others say nothing here. */
  readonly clientId: string
}

export interface OrganizationProvider extends PeopleProvider {
  readonly uid: Uid
  /** The groups that a token of it says somebody is in; undefined when it holds something else than names. */
  groupsOf(payload: SubjectClaims['payload']): readonly string[] | undefined
}

/** The e-mail address that a provider states and says is verified (OpenID Connect Core 1.0 section 5.1); '' for none. */
export function verifiedEmail({
  email,
  email_verified: verified,
}: Readonly<Record<string, unknown>>): string {
  const isVerified = verified === true || verified === 'true'
  return isVerified && typeof email === 'string' && email.length <= limits.emailCharsMax ? email : ''
}

/** The ID token of a person who signed in here before, from the provider that they sign in with. */
export function personMethod(
  { issuer: ownIssuer, subject }: Pick<IdentityRow, 'issuer' | 'subject'>,
  providers: readonly PeopleProvider[],
): AssumeMethod {
  const clients = providers.filter((one) => one.issuer === ownIssuer).map((one) => one.clientId)
  return {
    issuer: (issuer) =>
      identityCondition('issuer', issuer === ownIssuer && clients.length > 0, () => ({
        expected: clients.length > 0 ? ownIssuer : 'a provider that people sign in with here',
        actual: issuer,
      })),
    keys: undefined,
    claims({ audience, subject: actual, payload }, check) {
      check(
        identityCondition('subject', actual === subject, () => ({
          expected: subject,
          actual,
        })),
      )
      // OpenID Connect Core 1.0 section 3.1.3.7: with several audiences the token names the one that it was issued to.
      const authorizedParty = audience.length === 1 ? audience[0] : payload['azp']
      check(
        identityCondition(
          'audience',
          clients.some((client) => audience.includes(client) && authorizedParty === client),
          () =>
            oneOfDetail(
              clients,
              audience,
              'the ID token must have been issued to the client that this server is at the provider',
            ),
        ),
      )
    },
  }
}
