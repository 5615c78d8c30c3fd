import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { Fields, WebBrowser, WebPage } from './web-browser.ts'

/** A client of the token service that lets people sign in, as the command line is one. */

export const CLIENT = 'berth-cli'
export const REDIRECT = 'http://127.0.0.1:49152/callback'

/** What one run of the code flow is made of. */
export interface CodeFlow {
  readonly verifier: string
  readonly state: string
  /** Parameters of the authorization request. */
  readonly parameters: Fields
}

export function codeFlow(changed: Fields = {}): CodeFlow {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('hex')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return {
    verifier,
    state,
    parameters: {
      response_type: 'code',
      client_id: CLIENT,
      redirect_uri: REDIRECT,
      state,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...changed,
    },
  }
}

/** A path with a query; a parameter given as undefined is left out. */
export function withQuery(path: string, parameters: Fields): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.append(name, value)
  return `${path}?${query}`
}

/** Agrees on the page of the consent; returns where that leads. */
export function submitConsent(browser: WebBrowser, page: WebPage, decision = 'allow'): Promise<WebPage> {
  assert.match(page.path, /^\/oauth\/continue\?/, `no consent is asked for: ${page.status} ${page.text}`)
  return browser.submit(
    page,
    { decision },
    page.forms.findIndex((form) => form.action === '/oauth/continue'),
  )
}

/** Goes through the code flow up to the code. */
export async function authorizationCodeOf(browser: WebBrowser, flow: CodeFlow): Promise<string> {
  const { redirectedTo: left, text } = await submitConsent(
    browser,
    await browser.open(withQuery('/oauth/authorize', flow.parameters)),
  )
  const code = left?.searchParams.get('code')
  assert.ok(code, `there is no code: ${left} ${text}`)
  return code
}

export interface TokenReply {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly access_token?: string
    readonly token_type?: string
    readonly expires_in?: number
    readonly refresh_token?: string
    readonly id_token?: string
    readonly error?: string
    readonly error_description?: string
    readonly [name: string]: unknown
  }
}

/** Sends a form to an endpoint of clients. */
export async function postForm(
  url: string,
  path: string,
  fields: Fields | URLSearchParams,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenReply> {
  const body =
    fields instanceof URLSearchParams ? fields : new URLSearchParams(withQuery('', fields).slice(1))
  const response = await fetch(url + path, { method: 'POST', body, headers })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as TokenReply['body']),
  }
}

/** What a client sends to the token endpoint for a code. */
export function tokenRequest({ verifier }: CodeFlow, code: string): Fields {
  return {
    grant_type: 'authorization_code',
    client_id: CLIENT,
    redirect_uri: REDIRECT,
    code_verifier: verifier,
    code,
  }
}

/** The claims of a JWT, not verified. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
