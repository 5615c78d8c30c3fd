import assert from 'node:assert/strict'
import { confirm, type WebBrowser, webBrowser } from '../browser/web-browser.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { codeFlow, withQuery } from './oauth.ts'
import { type MaliciousProvider, type ProviderUser, signInAt } from './real-providers.ts'

/**
 * The mix-up attack: the attacker starts a sign-in through an honest provider, their own provider sends the victim on to that one with
 * state of the victim and with nonce and proof key of the attacker, and the code is to arrive at their token endpoint.
 */
export interface MixUpAttack {
  /** `with` of the honest provider: the name of an operator's, the uid of an organization's. */
  readonly honest: string
  /** The attacker's. */
  readonly provider: MaliciousProvider
  readonly victim: ProviderUser
  /** Redirect URI that the honest provider is asked for; undefined: that of the attacker's own sign-in. */
  readonly redirectUri?: string | undefined
}

export interface MixUpResult {
  /** Requests at the attacker's token endpoint. */
  readonly stolen: readonly string[]
  /** Status of the page on which the victim ends. */
  readonly status: number
  readonly victim: WebBrowser
  readonly attacker: WebBrowser
}

/** A browser that came by a link of another site. */
export const crossSite = { headers: { 'sec-fetch-site': 'cross-site' } } as const

/** Runs the attack on a victim who opens `link` and agrees to everything. */
export async function runMixUpAttack(
  berth: TestBerth,
  attack: MixUpAttack,
  link: string,
): Promise<MixUpResult> {
  const { honest, provider, victim: user, redirectUri } = attack
  const attacker = webBrowser(berth.url)
  const own = await followToProvider(attacker, withQuery('/sign-in/provider', { with: honest }))
  const target = new URL(own)
  if (redirectUri !== undefined) target.searchParams.set('redirect_uri', redirectUri)
  await provider.forward(target)
  const before = provider.received().length

  const arrived = webBrowser(berth.url, crossSite)
  const arrival = await arrived.open(link)
  // What the victim clicks is on a page of Berth.
  const victim = webBrowser(berth.url, { headers: { 'sec-fetch-site': 'same-origin' } })
  for (const [name, value] of arrived.cookies) victim.cookies.set(name, value)
  const departed = (await confirm(victim, arrival)).redirectedTo ?? assert.fail(arrival.text)
  assert.equal(departed.origin, provider.issuer)
  const sentOn = await webBrowser(departed.origin).open(departed.href)
  const back = await signInAt(sentOn.redirectedTo ?? assert.fail('the attacker keeps the victim'), user)
  assert.ok(back.searchParams.has('code'), `the honest provider gives no code: ${back}`)
  const page = await victim.open(back.href)

  const stolen = provider.received().slice(before)
  for (const body of stolen) {
    const back = new URL(own.searchParams.get('redirect_uri') ?? '')
    back.searchParams.set('code', new URLSearchParams(body).get('code') ?? '')
    back.searchParams.set('state', own.searchParams.get('state') ?? '')
    await attacker.open(back.href)
  }
  return { stolen, status: page.status, victim, attacker }
}

/** Links by which a victim leaves for a provider: with a click on a page of Berth, and what needed none. */
export function providerLinks(provider: string): Readonly<Record<string, string>> {
  return {
    'by the sign-in page': withQuery('/sign-in/provider', { with: provider }),
    'by /oauth/authorize': withQuery('/oauth/authorize', { ...codeFlow().parameters, idp_id: provider }),
    'by /oauth': withQuery('/oauth', { redirect: 'http://localhost:49152/callback', idp_id: provider }),
  }
}

export async function isSignedIn(browser: WebBrowser): Promise<boolean> {
  return (await browser.open('/account')).path === '/account'
}

async function followToProvider(browser: WebBrowser, link: string): Promise<URL> {
  const page = await confirm(browser, await browser.open(link))
  return page.redirectedTo ?? assert.fail(`${link} leads nowhere: ${page.status} ${page.text}`)
}
