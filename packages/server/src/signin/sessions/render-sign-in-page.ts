import type { Context } from 'hono'
import { findInviteOffer, type InviteOffer } from '../../iam/invitations.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { type AuthorizationRequest, requestSecretOf } from '../oauth/authorization-requests.ts'
import { readAuthorizationRequest } from '../oauth/browser-binding.ts'
import { passkeysUnsupportedReason } from '../passkeys/passkeys.ts'
import { confirmedProviderPath } from '../providers/provider-paths.ts'
import type { Browser } from './browser.ts'
import { type SignInPage, signInPage } from './sign-in-page.ts'

/** Renders the sign-in page with the methods that are available, also after a failed sign-in. */

export const ACCOUNT_DISABLED = 'This account is disabled. Ask the operator of this server to enable it.'

/** Reads the request that waits for a sign-in; undefined if none does. Throws code 5 if the request has expired. */
export async function readWaitingRequest(
  c: Context<SignInEnv>,
  context: SignInContext,
  waiting: string,
): Promise<AuthorizationRequest | undefined> {
  const secret = requestSecretOf(waiting)
  return secret === '' ? undefined : readAuthorizationRequest(c, context, secret)
}

export async function renderSignInPage(
  c: Context<SignInEnv>,
  context: SignInContext,
  browser: Browser,
  secret: string,
  request: AuthorizationRequest | undefined,
  more: Pick<SignInPage, 'email' | 'organization' | 'problem' | 'noticeText'>,
  status: 200 | 401 | 403 | 404 = 200,
): Promise<Response> {
  const body = signInPage({
    ...more,
    browser,
    request: secret,
    providers: context.providers.offered.map(({ id, label }) => ({
      label,
      href: confirmedProviderPath(context, browser, id, secret),
    })),
    passkeys: passkeysUnsupportedReason(context.authUrl) === undefined,
    register: request !== undefined && (await registrationOffer(context, request)) !== undefined,
    sendsMail: context.sendsMail,
  })
  return c.html(body, status)
}

/**
 * Returns the invite with which the user can create an account, if any. One for an email address requires the link that was sent there:
 * nothing else proves that the address is theirs.
 */
export async function registrationOffer(
  { store }: SignInContext,
  { invite, skipRegistration }: AuthorizationRequest,
): Promise<InviteOffer | undefined> {
  if (invite === '' || skipRegistration) return undefined
  const offer = await findInviteOffer(store, invite)
  return offer !== undefined && isForNewAccounts(offer) ? offer : undefined
}

export function isForNewAccounts({ email, provesEmail }: InviteOffer): boolean {
  return email === '' || provesEmail
}
