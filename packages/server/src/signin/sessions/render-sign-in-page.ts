import type { Context } from 'hono'
import { findInviteOffer } from '../../iam/invitations.ts'
import type { SignInContext, SignInEnv } from '../context.ts'
import { type AuthorizationRequest, requestSecretOf } from '../oauth/authorization-requests.ts'
import { readAuthorizationRequest } from '../oauth/browser-binding.ts'
import { passkeysUnsupportedReason } from '../passkeys/passkeys.ts'
import { confirmedProviderPath } from '../providers/provider-routes.ts'
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
  more: Pick<SignInPage, 'email' | 'problem' | 'noticeText'>,
  status: 200 | 401 | 403 = 200,
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
    register: request !== undefined && (await canRegister(context, request)),
  })
  return c.html(body, status)
}

/** An invite allows its holder to create an account, unless it is for an email address: nothing proves that the address is theirs. */
export async function canRegister(
  { store }: SignInContext,
  { invite, skipRegistration }: AuthorizationRequest,
): Promise<boolean> {
  if (invite === '' || skipRegistration) return false
  return (await findInviteOffer(store, invite))?.email === ''
}
