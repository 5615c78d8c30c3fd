import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { webBrowser } from '../browser/web-browser.ts'
import type { Cleanup } from '../server/process.ts'

/** An OpenID provider of people in a process of its own (person-provider-server.ts), with any number of clients. */

export interface PersonProviderSettings {
  /** Redirect URIs by the id of the client, whose secret is `secret-of-<id>`. */
  readonly clients: Readonly<Record<string, readonly string[]>>
  /** Who is at the keyboard; undefined declines. */
  readonly person: UpstreamPerson | undefined
}

export interface UpstreamPerson {
  readonly sub: string
  readonly email?: string
  readonly email_verified?: boolean
  readonly groups?: readonly string[]
}

export interface PersonProvider {
  readonly issuer: string
  /** Replaces settings; the others stay. */
  set(settings: Partial<PersonProviderSettings>): Promise<void>
  /** Goes where a browser is sent, and returns the address to which it is sent back. */
  pass(left: URL | undefined): Promise<URL>
  /** An ID token about the person, as an application of the client gets it for itself, at a redirect URI that is not Berth's. */
  idToken(client: string, redirect: string): Promise<string>
}

export const secretOf = (client: string) => `secret-of-${client}`

export async function startPersonProvider(t: Cleanup): Promise<PersonProvider> {
  const child = fork(fileURLToPath(new URL('./person-provider-server.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  t.after(() => void child.kill())
  const [{ issuer }] = (await once(child, 'message')) as [{ readonly issuer: string }]
  let settings: PersonProviderSettings = { clients: {}, person: undefined }
  const provider: PersonProvider = {
    issuer,
    async set(changed) {
      settings = { ...settings, ...changed }
      const done = once(child, 'message')
      child.send(settings)
      await done
    },
    async pass(left) {
      assert.equal(left?.origin, issuer, `the browser is not sent to the provider: ${left}`)
      const page = await webBrowser(issuer).open(left?.href ?? '')
      assert.ok(page.redirectedTo, `the provider does not redirect back: ${page.status} ${page.text}`)
      return page.redirectedTo
    },
    async idToken(client, redirect) {
      const verifier = randomBytes(32).toString('base64url')
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: client,
        redirect_uri: redirect,
        scope: 'openid email groups',
        state: 'x',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })
      const back = await provider.pass(new URL(`/auth?${query}`, issuer))
      const reply = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client}:${secretOf(client)}`).toString('base64')}`,
        },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code: back.searchParams.get('code') ?? '',
          redirect_uri: redirect,
          code_verifier: verifier,
        }),
      })
      const { id_token: token } = (await reply.json()) as { readonly id_token?: string }
      return token ?? assert.fail(`the provider answered ${reply.status}`)
    },
  }
  return provider
}
