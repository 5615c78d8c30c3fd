import type { AccountAssociation_Azure } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { type CloudProbe, notReady, type ProbeResult, ready } from './probe.ts'
import {
  hasAccessToken,
  jsonObject,
  type ProbeDeps,
  requestProviderToken,
  unexpectedResponse,
} from './provider-request.ts'

/**
 * Microsoft Azure: client credentials (RFC 6749, section 4.4) of Microsoft Entra ID, with our token as the client's assertion
 * (RFC 7523), once for each application.
 */

const PROVIDER = 'Azure'
const AUDIENCE = 'api://AzureADTokenExchange'

export function azureProbe({ outbound, tokens, endpoint }: ProbeDeps): CloudProbe<AccountAssociation_Azure> {
  return {
    async check({ tenantId, clientIds }, { group, signal }) {
      // The id becomes a part of the path, so it must not change the rest of the path.
      if (!/^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/.test(tenantId))
        return notReady('not configured', 'azure.tenantId is neither the id nor the domain of a tenant')
      const assertion = await tokens.issue(group, AUDIENCE)
      const outcomes = await Promise.all(
        Object.entries(clientIds)
          .sort(([probeApplication], [other]) => (probeApplication < other ? -1 : 1))
          .map(async ([component, clientId]) => ({ component, outcome: await probeApplication(clientId) })),
      )
      const failed = outcomes.filter(({ outcome }) => !outcome.ready)
      const [first] = failed
      if (first === undefined) return ready
      return {
        ...first.outcome,
        message: failed.map(({ component, outcome }) => `${component}: ${outcome.message}`).join('; '),
      }

      async function probeApplication(clientId: string): Promise<ProbeResult> {
        const result = await requestProviderToken(outbound, {
          provider: PROVIDER,
          group,
          url: `${endpoint}/${tenantId}/oauth2/v2.0/token`,
          form: {
            grant_type: 'client_credentials',
            client_id: clientId,
            client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
            client_assertion: assertion,
            scope: 'https://management.azure.com/.default',
          },
          accept: 'application/json',
          signal,
        })
        if ('outcome' in result) return result.outcome
        const { status, text } = result.response
        if (status === 200) return hasAccessToken(text) ? ready : unexpectedResponse(PROVIDER)
        return refusal(jsonObject(text))
      }
    },
  }
}

/** The meaning of the numbers in `error_codes`, which are those of the messages `AADSTS<number>`. */
const meanings: readonly (readonly [numbers: readonly number[], why: string])[] = [
  [[90002, 900021, 900023], 'there is no such tenant'],
  [[700016], 'the tenant has no application with this client id'],
  [
    [70021, 700211, 700212, 700213],
    "the application has no federated credential with Berth's issuer, audience and subject",
  ],
  [[700024], "it does not accept the token's times; the clock of the server that runs Berth may be wrong"],
]

function refusal(response: Readonly<Record<string, unknown>> | undefined): ProbeResult {
  if (typeof response?.['error'] !== 'string') return unexpectedResponse(PROVIDER)
  const codes = Array.isArray(response['error_codes']) ? (response['error_codes'] as readonly unknown[]) : []
  const known = meanings.find(([numbers]) => numbers.some((number) => codes.includes(number)))
  const why = known?.[1] ?? 'its error does not show what is wrong with the trust relationship'
  return notReady('refused by the provider', `${PROVIDER} refused: ${why}`)
}
