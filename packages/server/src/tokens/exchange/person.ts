import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { IdentityRow } from '../../storage/schema/tables.ts'
import { identityCondition, oneOfDetail, type SubjectClaims } from '../trust/match.ts'
import type { AssumeMethod } from './assume-method.ts'

/** The identity providers of users, for an exchange. */
export interface People {
  /** The providers that the operator offers to all users. */
  readonly operatorProviders: readonly PeopleProvider[]
  /** Reads an organization's provider; undefined if there is none. */
  organizationProvider(uid: string): Promise<OrganizationProvider | undefined>
  /** The uid of a user's identity, also before the first sign-in. */
  uidOf(issuer: string, subject: string): Promise<string>
}

export interface PeopleProvider {
  readonly issuer: string
  /** Client id of this installation at the provider; its tokens for other clients are rejected. */
  readonly clientId: string
}

export interface OrganizationProvider extends PeopleProvider {
  readonly uid: Uid
  /** The user's groups in a token; undefined if the claim is invalid. */
  groupsOf(payload: SubjectClaims['payload']): readonly string[] | undefined
}

/** The verified email address in claims (OpenID Connect Core 1.0 section 5.1); '' for none. */
export function verifiedEmail({
  email,
  email_verified: verified,
}: Readonly<Record<string, unknown>>): string {
  const isVerified = verified === true || verified === 'true'
  return isVerified && typeof email === 'string' && email.length <= limits.emailCharsMax ? email : ''
}

/** The method for an ID token of a user who has signed in before with the provider that issued it. */
export function personMethod(
  { issuer: ownIssuer, subject }: Pick<IdentityRow, 'issuer' | 'subject'>,
  providers: readonly PeopleProvider[],
): AssumeMethod {
  const clients = providers.filter((one) => one.issuer === ownIssuer).map((one) => one.clientId)
  return {
    issuer: (issuer) =>
      identityCondition('issuer', issuer === ownIssuer && clients.length > 0, () => ({
        expected: clients.length > 0 ? ownIssuer : 'an identity provider of this server',
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
      // OpenID Connect Core 1.0 section 3.1.3.7: with several audiences, `azp` names the client.
      const authorizedParty = audience.length === 1 ? audience[0] : payload['azp']
      check(
        identityCondition(
          'audience',
          clients.some((client) => audience.includes(client) && authorizedParty === client),
          () =>
            oneOfDetail(
              clients,
              audience,
              'the ID token must be issued to the client of this server at the provider',
            ),
        ),
      )
    },
  }
}
