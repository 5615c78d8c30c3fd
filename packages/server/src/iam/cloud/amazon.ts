import type { AccountAssociation_Amazon } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { type CloudProbe, notReady, type ProbeResult, ready } from './probe.ts'
import { type ProbeDeps, providerBusy, requestProviderToken, unexpectedResponse } from './provider-request.ts'

/** Amazon Web Services: AssumeRoleWithWebIdentity of the Security Token Service, on one role of the account. */

const PROVIDER = 'Amazon'
const AUDIENCE = 'sts.amazonaws.com'
/** The shortest lifetime that Amazon accepts; the credentials are discarded. */
const CREDENTIALS_SECONDS = 900

/** `role`: name of the role, with its path. */
export function amazonProbe({
  outbound,
  tokens,
  endpoint,
  role,
}: ProbeDeps & { readonly role: string }): CloudProbe<AccountAssociation_Amazon> {
  return {
    async check({ account }, { group, signal }) {
      const result = await requestProviderToken(outbound, {
        provider: PROVIDER,
        group,
        url: `${endpoint}/`,
        form: {
          Action: 'AssumeRoleWithWebIdentity',
          Version: '2011-06-15',
          RoleArn: `arn:aws:iam::${account}:role/${role}`,
          RoleSessionName: 'berth-account-check',
          DurationSeconds: String(CREDENTIALS_SECONDS),
          WebIdentityToken: await tokens.issue(group, AUDIENCE),
        },
        accept: 'text/xml',
        signal,
      })
      if ('outcome' in result) return result.outcome
      const { status, text } = result.response
      if (status === 200) return holdsCredentials(text) ? ready : unexpectedResponse(PROVIDER)
      return refusal(/<Code>([A-Za-z.]{1,64})<\/Code>/.exec(text)?.[1], role)
    },
  }
}

function holdsCredentials(xml: string): boolean {
  return ['AccessKeyId', 'SecretAccessKey', 'SessionToken'].every((name) =>
    new RegExp(`<${name}>[^<]+</${name}>`).test(xml),
  )
}

/** By the code of an error response; these are the codes that the action documents. */
function refusal(code: string | undefined, role: string): ProbeResult {
  switch (code) {
    case undefined:
      return unexpectedResponse(PROVIDER)
    case 'Throttling':
    case 'ThrottlingException':
      return providerBusy(PROVIDER)
    case 'AccessDenied':
      return refused(
        `the role ${role} does not exist in the account, or its trust policy does not admit Berth's issuer, audience and subject`,
      )
    case 'InvalidIdentityToken':
      return refused(
        `the account has no identity provider for Berth's issuer with the audience ${AUDIENCE}, or Amazon cannot read the issuer's keys`,
      )
    case 'IDPCommunicationError':
      return refused("Amazon cannot reach Berth's issuer to read its keys")
    case 'IDPRejectedClaim':
    case 'ExpiredTokenException':
      return refused(
        "it does not accept the token's times; the clock of the server that runs Berth may be wrong",
      )
    default:
      return refused('its error does not show what is wrong with the trust relationship')
  }
}

function refused(why: string): ProbeResult {
  return notReady('refused by the provider', `${PROVIDER} refused: ${why}`)
}
