import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { SignInEnv } from '../context.ts'

/** What every answer of the sign-in tells the browser: it may do nothing that the pages do not need, and keep nothing. */

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

/** A handler that sets one of these headers itself has its way. */
export const securityHeaders = createMiddleware<SignInEnv>(async (c, next) => {
  await next()
  const targets = ["'self'", ...(c.get('formTargets') ?? [])]
  const headers = {
    ...fixed,
    'content-security-policy': [...policy, `form-action ${targets.join(' ')}`].join('; '),
  }
  for (const [name, value] of Object.entries(headers))
    if (!c.res.headers.has(name)) c.res.headers.set(name, value)
})

/**
 * Lets the forms of the page that is being answered end at `url`: browsers apply `form-action` to where a form is redirected to
 * as well. Only for an address that has been checked, such as a client's redirect.
 */
export function allowFormRedirectTo(c: Context<SignInEnv>, url: URL): void {
  // A policy cannot name an IPv6 address (CSP Level 3, section 2.3.1): the scheme is the nearest that it can say.
  const target = url.hostname.startsWith('[') ? url.protocol : url.origin
  c.set('formTargets', [...(c.get('formTargets') ?? []), target])
}
