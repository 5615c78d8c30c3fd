import assert from 'node:assert/strict'
import type { SignedIn } from '@berth/server/tokens/sessions/sessions.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createSession } from './accounts.ts'

/**
 * A browser as far as the pages of the sign-in need one: it keeps cookies, follows redirects on the server's own address, and fills
 * in the forms that it is shown, with their hidden fields.
 */
export interface WebBrowser {
  readonly cookies: Map<string, string>
  /** Opens a path or an address. Redirects to elsewhere are not followed: `left` says where. */
  open(address: string): Promise<WebPage>
  /** Sends a form of a page; `fields` replace and add to what it holds, undefined takes one away. */
  submit(page: WebPage, fields?: Fields, which?: number): Promise<WebPage>
  /** Sends anything to a path. */
  post(path: string, fields: Fields): Promise<WebPage>
}

export type Fields = Readonly<Record<string, string | undefined>>

export interface WebPage {
  readonly status: number
  /** Path and query at which it was found. */
  readonly path: string
  readonly headers: Headers
  readonly html: string
  /** What a person reads. */
  readonly text: string
  readonly forms: readonly WebForm[]
  /** The address at which the browser left the server; undefined when it did not. */
  readonly redirectedTo: URL | undefined
}

export interface WebForm {
  readonly action: string
  readonly method: string
  readonly fields: Readonly<Record<string, string>>
}

const REDIRECTS_MAX = 10

export interface WebBrowserOptions {
  /** False: the answer that redirects is the page. */
  readonly follow?: boolean
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
}

export function webBrowser(origin: string, options: WebBrowserOptions = {}): WebBrowser {
  const cookies = new Map<string, string>()
  const send = async (
    address: string,
    body: URLSearchParams | undefined,
    left = REDIRECTS_MAX,
  ): Promise<WebPage> => {
    const url = new URL(address, origin)
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        ...options.headers,
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      ...(body === undefined ? {} : { body }),
    })
    for (const cookie of response.headers.getSetCookie()) keepCookie(cookies, cookie)
    const location = response.headers.get('location')
    if (location !== null && response.status >= 300 && response.status < 400) {
      const next = new URL(location, url)
      if (next.origin !== origin || options.follow === false || left === 0)
        return pageOf(response, url, await response.text(), next)
      await response.body?.cancel()
      return send(next.href, undefined, left - 1)
    }
    return pageOf(response, url, await response.text(), undefined)
  }
  return {
    cookies,
    open: (address) => send(address, undefined),
    submit(page, fields = {}, which = 0) {
      const form = page.forms.at(which)
      assert.ok(form, `there is no such form: ${page.status} ${page.text}`)
      return send(form.action, encode({ ...form.fields, ...fields }))
    },
    post: (path, fields) => send(path, encode(fields)),
  }
}

/** Follows the button of a page that asks whether to continue; other pages stay as they are. */
export function confirm(browser: WebBrowser, page: WebPage): Promise<WebPage> | WebPage {
  const href = linkOf(page, /<a class="button" href="([^"]*)">Continue</)
  return href === undefined ? page : browser.open(href)
}

/** The address that the first group of the pattern matches in a page. */
export function linkOf({ html }: Pick<WebPage, 'html'>, pattern: RegExp): string | undefined {
  const [, href] = pattern.exec(html) ?? []
  return href === undefined ? undefined : plain(href)
}

/** A browser in which this identity is signed in already. */
export async function createSignedInBrowser(
  berth: Pick<TestBerth, 'url' | 'berth'>,
  identity: string,
  how: Partial<Omit<SignedIn, 'identity'>> = {},
): Promise<WebBrowser> {
  const { secret } = await createSession(berth, { identity, method: 'password', ...how }, { kind: 'browser' })
  const browser = webBrowser(berth.url)
  browser.cookies.set('berth', secret)
  return browser
}

function keepCookie(cookies: Map<string, string>, header: string): void {
  const [pair = '', ...attributes] = header.split(';').map((part) => part.trim())
  const mark = pair.indexOf('=')
  const [name, value] = [pair.slice(0, mark), pair.slice(mark + 1)]
  if (attributes.some((attribute) => /^max-age=0$/i.test(attribute))) cookies.delete(name)
  else cookies.set(name, value)
}

function encode(fields: Fields): URLSearchParams {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
  return form
}

function pageOf(response: Response, url: URL, html: string, left: URL | undefined): WebPage {
  const body = html.slice(Math.max(html.indexOf('<main'), 0))
  return {
    status: response.status,
    path: url.pathname + url.search,
    headers: response.headers,
    html,
    text: plain(body.replaceAll(/<[^>]*>/g, ' '))
      .replaceAll(/\s+/g, ' ')
      .trim(),
    forms: [...body.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag = '', content = '']) => ({
      action: attribute(tag, 'action') ?? url.pathname + url.search,
      method: attribute(tag, 'method') ?? 'get',
      fields: Object.fromEntries(
        [...content.matchAll(/<input\b([^>]*)>/g)].flatMap(([, input = '']) => {
          const name = attribute(input, 'name')
          return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']]
        }),
      ),
    })),
    redirectedTo: left,
  }
}

function attribute(tag: string, name: string): string | undefined {
  const [, value] = new RegExp(`\\b${name}="([^"]*)"`).exec(tag) ?? []
  return value === undefined ? undefined : plain(value)
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  '#39': "'",
  '#43': '+',
}

function plain(text: string): string {
  return text.replaceAll(/&(amp|lt|gt|quot|#39|#43);/g, (_, name: string) => entities[name] ?? '')
}
