import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Cleanup } from '../server/process.ts'
import { newSigner } from '../tokens/issuer.ts'

/** A real OpenID provider on loopback that browsers are redirected to: it signs in the user of `person`, without a prompt. */
export interface UpstreamProvider {
  readonly issuer: string
  /** Who is at the keyboard; undefined declines. */
  person: UpstreamPerson | undefined
  /** Paths that it was asked for. */
  readonly requests: string[]
  /** Answers in its place while it is set. */
  answer: RequestListener | undefined
}

export interface UpstreamPerson {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly groups?: unknown
}

export const UPSTREAM_CLIENT = { id: 'berth', secret: 'upstream-secret-of-berth' }

export async function startUpstreamProvider(
  t: Cleanup,
  /** Where people come back to; asked when the first of them comes. */
  berthUrl: () => string,
  options: { readonly pkceRequired?: boolean } = {},
): Promise<UpstreamProvider> {
  const requests: string[] = []
  const people = new Map<string, UpstreamPerson>()
  let made: Provider | undefined
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (upstream.answer !== undefined) return upstream.answer(request, response)
    made ??= openIdProvider(upstream.issuer, berthUrl(), people, options)
    const provider = made
    if (request.url?.startsWith('/interaction/') !== true) return void provider.callback()(request, response)
    const { person } = upstream
    const result =
      person === undefined
        ? { error: 'access_denied', error_description: '<b>declined</b>' }
        : { login: { accountId: person.sub, remember: false } }
    if (person !== undefined) people.set(person.sub, person)
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false }).catch(() => {
      response.writeHead(500).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstream: UpstreamProvider = { issuer, person: undefined, requests, answer: undefined }
  return upstream
}

/** Redirect URIs of the providers of organizations, whose uids are not known when the provider starts. */
const OWN_CALLBACK = /^\/oauth\/callback\/[0-9a-f]{40}\/[0-9a-f]{16}$/

function openIdProvider(
  issuer: string,
  berthUrl: string,
  people: ReadonlyMap<string, UpstreamPerson>,
  options: { readonly pkceRequired?: boolean },
): Provider {
  const { privateKey } = newSigner('up1')
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'up1', alg: 'ES256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clients: [
      {
        client_id: UPSTREAM_CLIENT.id,
        client_secret: UPSTREAM_CLIENT.secret,
        redirect_uris: [`${berthUrl}/oauth/callback/shared`],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes: ['openid', 'email', 'profile', 'groups'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    pkce: { required: () => options.pkceRequired === true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...people.get(id), sub: id }) }),
    async loadExistingGrant(context) {
      const grant = new context.oidc.provider.Grant({
        accountId: context.oidc.session?.accountId as string,
        clientId: context.oidc.client?.clientId as string,
      })
      grant.addOIDCScope('openid email profile groups')
      await grant.save()
      return grant
    },
  })
  const shared = [`${berthUrl}/oauth/callback`, `${berthUrl}/oauth/callback/shared`]
  provider.Client.prototype.redirectUriAllowed = (uri) =>
    shared.includes(uri) || (uri.startsWith(`${berthUrl}/`) && OWN_CALLBACK.test(uri.slice(berthUrl.length)))
  return provider
}
