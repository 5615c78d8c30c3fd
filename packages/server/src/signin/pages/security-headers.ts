import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { SignInEnv } from '../context.ts'

/** Security headers of every response of the sign-in: the browser may do only what the pages need, and store nothing. */

const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
]

const fixed = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
} as const

/** The headers of a page without a form that redirects elsewhere. */
export const pageHeaders = headersWith(["'self'"])

function headersWith(formTargets: readonly string[]) {
  return {
    ...fixed,
    'content-security-policy': [...policy, `form-action ${formTargets.join(' ')}`].join('; '),
  }
}

/** A header that a handler sets itself takes precedence. */
export const securityHeaders = createMiddleware<SignInEnv>(async (c, next) => {
  await next()
  const headers = headersWith(["'self'", ...(c.get('formTargets') ?? [])])
  for (const [name, value] of Object.entries(headers))
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
})

/**
 * Lets the forms of the page redirect to `url`, because browsers apply `form-action` to redirects as well. The URL must be verified
 * before, such as the redirect URI of a client.
 */
export function allowFormRedirectTo(c: Context<SignInEnv>, url: URL): void {
  // A policy cannot name an IPv6 address (CSP Level 3, section 2.3.1), so it allows the scheme.
  const target = url.hostname.startsWith('[') ? url.protocol : url.origin
  c.set('formTargets', [...(c.get('formTargets') ?? []), target])
}
