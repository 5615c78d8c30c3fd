import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { Responder } from './issuer.ts'

/**
 * The token services of Amazon, Google and Azure on plain http of loopback. They verify what they are shown as the real ones do,
 * with the keys that its issuer publishes, and answer in the form that the real ones have.
 */
export interface TestClouds {
  /** Address of all three. */
  readonly url: string
  /** What they were asked, oldest first. */
  readonly requests: { readonly path: string; readonly form: Readonly<Record<string, string>> }[]
  /** The issuer that the accounts trust; undefined for none. */
  trusts: { readonly issuer: string; readonly subject: string } | undefined
  /** Answers instead of them while it is set. */
  answer: Responder | undefined
  stop(): void
}

/** The accounts that exist. */
export const cloudAccounts = {
  amazon: { account: '123456789012' },
  google: { projectId: 'acme-prod', projectNumber: '4711' },
  azure: { tenantId: 'acme.example', clientIds: { scanner: 'client-1', builder: 'client-2' } },
} as const

export const CREDENTIALS = 'made-up-credentials'

export async function startClouds(): Promise<TestClouds> {
  const server = createServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await text(request)))
    const path = request.url ?? ''
    clouds.requests.push({ path, form })
    if (clouds.answer !== undefined) return clouds.answer(request, response)
    if (path === '/') await amazon(form, response)
    else if (path === '/v1/token') await google(form, response)
    else await azure(path.split('/')[1], form, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clouds: TestClouds = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    trusts: undefined,
    answer: undefined,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }

  /** What is wrong with the token, as the claim, or `issuer` or `token`. */
  async function problemOf(token: string | undefined, audience: string): Promise<string | undefined> {
    if (clouds.trusts === undefined || token === undefined) return 'issuer'
    const { issuer, subject } = clouds.trusts
    const discovery = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Record<
      string,
      string
    >
    try {
      const keys = createRemoteJWKSet(new URL(discovery['jwks_uri'] ?? ''))
      const { payload } = await jwtVerify(token, keys, {
        issuer: discovery['issuer'] ?? '',
        audience,
        subject,
        algorithms: ['RS256', 'ES256'],
        requiredClaims: ['iat', 'exp', 'jti'],
      })
      return typeof payload.aud === 'string' ? undefined : 'aud'
    } catch (error) {
      return error instanceof errors.JWTClaimValidationFailed ? error.claim : 'token'
    }
  }

  async function amazon(form: Readonly<Record<string, string>>, response: ServerResponse) {
    const refuse = (status: number, code: string) =>
      xml(
        response,
        status,
        `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>mark</Message></Error></ErrorResponse>`,
      )
    if (form['Action'] !== 'AssumeRoleWithWebIdentity' || form['Version'] !== '2011-06-15')
      return refuse(400, 'InvalidAction')
    const problem = await problemOf(form['WebIdentityToken'], 'sts.amazonaws.com')
    const role = `arn:aws:iam::${cloudAccounts.amazon.account}:role/berth`
    if (problem === 'sub' || form['RoleArn'] !== role) return refuse(403, 'AccessDenied')
    if (problem !== undefined) return refuse(400, 'InvalidIdentityToken')
    const credentials = ['AccessKeyId', 'SecretAccessKey', 'SessionToken']
      .map((name) => `<${name}>${CREDENTIALS}</${name}>`)
      .join('\n')
    xml(
      response,
      200,
      `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\n${credentials}\n</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    )
  }

  async function google(form: Readonly<Record<string, string>>, response: ServerResponse) {
    const refuse = (error: string) => json(response, 400, { error, error_description: 'mark' })
    const resource = `//iam.googleapis.com/projects/${cloudAccounts.google.projectNumber}/locations/global/workloadIdentityPools/berth/providers/berth`
    if (form['grant_type'] !== 'urn:ietf:params:oauth:grant-type:token-exchange')
      return refuse('unsupported_grant_type')
    if (form['audience'] !== resource) return refuse('invalid_target')
    const problem = await problemOf(form['subject_token'], `https:${resource}`)
    if (problem !== undefined) return refuse(problem === 'sub' ? 'unauthorized_client' : 'invalid_grant')
    json(response, 200, { access_token: CREDENTIALS, token_type: 'Bearer', expires_in: 3600 })
  }

  async function azure(
    tenant: string | undefined,
    form: Readonly<Record<string, string>>,
    response: ServerResponse,
  ) {
    const refuse = (error: string, number: number) =>
      json(response, 400, {
        error,
        error_codes: [number],
        error_description: `AADSTS${number}: mark`,
      })
    if (tenant !== cloudAccounts.azure.tenantId) return refuse('invalid_request', 90002)
    if (form['grant_type'] !== 'client_credentials') return refuse('unsupported_grant_type', 70003)
    const known: readonly (string | undefined)[] = Object.values(cloudAccounts.azure.clientIds)
    if (!known.includes(form['client_id'])) return refuse('unauthorized_client', 700016)
    const problem = await problemOf(form['client_assertion'], 'api://AzureADTokenExchange')
    if (problem !== undefined) return refuse('invalid_client', problem === 'sub' ? 700213 : 700211)
    json(response, 200, { access_token: CREDENTIALS, token_type: 'Bearer', expires_in: 3599 })
  }

  return clouds
}

function xml(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'text/xml' }).end(body)
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
