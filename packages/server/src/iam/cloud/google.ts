import type { AccountAssociation_Google } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { type CloudProbe, notReady, type ProbeResult, ready } from './probe.ts'
import {
  hasAccessToken,
  jsonObject,
  type ProbeDeps,
  requestProviderToken,
  unexpectedResponse,
} from './provider-request.ts'

/** Google Cloud: the token exchange (RFC 8693) of the Security Token Service, with one workload identity pool of the project. */

const PROVIDER = 'Google'

/** `pool`, `provider`: names of the workload identity pool and of the provider in it. */
export function googleProbe({
  outbound,
  tokens,
  endpoint,
  pool,
  provider,
}: ProbeDeps & { readonly pool: string; readonly provider: string }): CloudProbe<AccountAssociation_Google> {
  return {
    async check({ projectNumber }, { group, signal }) {
      // Any other text would become part of the name of another resource.
      if (!/^[0-9]{1,20}$/.test(projectNumber))
        return notReady(
          'not configured',
          'google.projectNumber is not a project number: it must have digits only',
        )
      const resource = `//iam.googleapis.com/projects/${projectNumber}/locations/global/workloadIdentityPools/${pool}/providers/${provider}`
      const result = await requestProviderToken(outbound, {
        provider: PROVIDER,
        group,
        url: `${endpoint}/v1/token`,
        form: {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          audience: resource,
          scope: 'https://www.googleapis.com/auth/cloud-platform',
          requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
          // The audience that a provider expects when its configuration names none.
          subject_token: await tokens.issue(group, `https:${resource}`),
        },
        accept: 'application/json',
        signal,
      })
      if ('outcome' in result) return result.outcome
      const { status, text } = result.response
      if (status === 200) return hasAccessToken(text) ? ready : unexpectedResponse(PROVIDER)
      return refusal(jsonObject(text)?.['error'], `${pool}/${provider}`)
    },
  }
}

/** By the `error` of the response (RFC 6749, section 5.2; RFC 8693, section 2.2.2). */
function refusal(error: unknown, provider: string): ProbeResult {
  switch (error) {
    case undefined:
      return unexpectedResponse(PROVIDER)
    case 'invalid_target':
      return refused(`the project has no workload identity provider ${provider}, or it is disabled`)
    case 'invalid_grant':
      return refused(
        `the workload identity provider ${provider} does not accept Berth's issuer and audience, or Google cannot read the issuer's keys`,
      )
    case 'unauthorized_client':
      return refused(`the attribute condition of the workload identity provider ${provider} does not hold`)
    default:
      return refused('its error does not show what is wrong with the trust relationship')
  }
}

function refused(why: string): ProbeResult {
  return notReady('refused by the provider', `${PROVIDER} refused: ${why}`)
}
