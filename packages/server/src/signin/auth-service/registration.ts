import type { RegistrationRequest, Session } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import {
  ApiError,
  Code,
  invalidArgument,
  permissionDenied,
  unauthenticated,
  unavailable,
} from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { lookupUser } from '../../iam/identities/user-lookup.ts'
import { acceptInvite } from '../../iam/invitations.ts'
import { readInviteCode } from '../../iam/invites/invite-code.ts'
import { bearerToken } from '../../pipeline/authenticate.ts'
import { isNarrowed, type ReadGrants } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import type { Voucher } from '../../pipeline/vouching.ts'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import type { Store } from '../../storage/store.ts'
import type { AccessTokens } from '../../tokens/access-token.ts'
import { checkSubjectToken, readSubjectToken } from '../../tokens/exchange/subject-token.ts'
import type { IssuerKeys } from '../../tokens/issuers/issuer-keys.ts'
import { evaluateUntilFailure } from '../../tokens/trust/evaluate.ts'
import type { SubjectClaims } from '../../tokens/trust/match.ts'
import { findOrRegisterUser, type ProviderIdentity } from '../providers/provider-users.ts'
import { type Provider, type Providers, voucherOf } from '../providers/providers.ts'
import { outboundShareOf } from '../providers/upstream.ts'

/**
 * Registers a user with an ID token of an identity provider of this server, without a browser. A token of this server does not register, but
 * its user can accept an invite with it.
 */

export interface RegistrationOptions {
  readonly store: Store
  /** `{auth_url}`. */
  readonly authUrl: string
  readonly verify: AccessTokens['verifyAccessOrIdToken']
  readonly readGrants: ReadGrants
  /** The published keys of an issuer. */
  readonly keysFor: IssuerKeys['keysFor']
  readonly providers: Pick<Providers, 'byIssuerAndClient'>
  /** Called with the verified identity before anything is written; may reject. */
  readonly onIdentityVerified: (identity: string, call: Call) => Promise<void> | undefined
  /** Records a denial in the audit log. */
  readonly onRefused: (identity: string, error: ApiError, call: Call) => void
}

const RETRY_MS = 1000

export async function register(
  options: RegistrationOptions,
  request: RegistrationRequest,
  call: Call,
): Promise<Session> {
  const { store } = options
  const proof = await verifyToken(options, bearerToken(call.authorizationHeader), request.code)
  const identity =
    'identity' in proof
      ? proof.identity
      : await lookupUser(store.db.kysely, proof.person.issuer, proof.person.subject)
  if (request.identityId !== '' && request.identityId !== identity)
    throw invalidArgument('identityId', 'must be the identity of the token')
  await options.onIdentityVerified(identity, call)
  try {
    const group = await writeRegistration(store, proof, identity, request.code, call)
    return { $typeName: 'chainguard.platform.auth.Session', identity, group }
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.NOT_FOUND) options.onRefused(identity, error, call)
    throw error
  }
}

/** The user of a token: an identity of this server, or a user of a provider. */
type VerifiedUser = { readonly identity: Uid; readonly voucher: Voucher } | ProviderIdentity

/** Writes the registration in one transaction; returns the group of the accepted invite. */
function writeRegistration(
  store: Store,
  proof: VerifiedUser,
  identity: string,
  code: string,
  call: Call,
): Promise<string> {
  const event = {
    timeMs: store.clock(),
    actor: identity,
    method: fullMethodName(call.requestedMethod),
    requestId: call.requestId,
    address: call.address,
  }
  return inTransaction(store.db, async (tx) => {
    const voucher = 'person' in proof ? voucherOf(proof.provider, proof.person) : proof.voucher
    if ('person' in proof) {
      const user = await findOrRegisterUser(store, tx, proof, { register: true })
      if (typeof user === 'string') throw untrustedIssuer()
      if (user.isNew) await recordEvent(tx, { ...event, uid: identity })
    }
    if (code === '') return ''
    try {
      const binding = await acceptInvite(store, tx, code, { ...event, voucher })
      await recordEvent(tx, { ...event, uid: binding.uid })
      return binding.parent
    } catch (error) {
      // The user already holds the role. Nothing was written before.
      if (error instanceof ApiError && error.code === Code.ALREADY_EXISTS)
        return readInviteCode(code)?.group ?? ''
      throw error
    }
  })
}

async function verifyToken(options: RegistrationOptions, token: string, code: string): Promise<VerifiedUser> {
  const read = readSubjectToken(token)
  if (!read.ok) throw unauthenticated(read.reason)
  const { claims } = read
  if (claims.issuer === options.authUrl) return verifyOwnToken(options, token)
  // Only issuers of sign-in providers are asked for keys (R1).
  const party = authorizedPartyOf(claims)
  const providers = party === undefined ? [] : await options.providers.byIssuerAndClient(claims.issuer, party)
  const [first] = providers
  if (first === undefined) throw untrustedIssuer()
  const { clock } = options.store
  const keys = options.keysFor(claims.issuer, outboundShareOf(first))
  const checked = await evaluateUntilFailure((check) =>
    checkSubjectToken(token, read, { keys, clock }, check),
  )
  if (!checked.ok) {
    const { fault, reason } = checked.failed
    throw fault === 'elsewhere' ? unavailable(reason, RETRY_MS) : unauthenticated(reason)
  }
  if (claims.issuedAtMs !== undefined && clock() - claims.issuedAtMs > limits.subjectTokenAgeMsMax)
    throw unauthenticated('the token was issued too long ago')
  const provider = selectProvider(providers, code)
  const { email, email_verified: verified } = claims.payload
  return {
    provider,
    person: {
      issuer: claims.issuer,
      subject: claims.subject,
      email: typeof email === 'string' && email.length <= limits.emailCharsMax ? email : '',
      emailVerified: verified === true || verified === 'true',
    },
  }
}

/** The client that a token was issued to (OpenID Connect Core 1.0 section 3.1.3.7). */
function authorizedPartyOf({ audience, payload }: SubjectClaims): string | undefined {
  const party = payload['azp'] ?? (audience.length === 1 ? audience[0] : undefined)
  return typeof party === 'string' && audience.includes(party) ? party : undefined
}

/**
 * Selects the provider of a token: one of the operator, or the only one of an organization. Of several with this issuer and client, the
 * only one of the inviting organization. Throws code 16 if this leaves none or several, because the token does not name its provider.
 */
function selectProvider(providers: readonly Provider[], code: string): Provider {
  const operator = providers.find(({ kind }) => kind === 'operator')
  if (operator !== undefined) return operator
  if (providers.length === 0) throw untrustedIssuer()
  const group = readInviteCode(code)?.group
  const inviting = group === undefined ? undefined : rootOf(group)
  const candidates =
    providers.length === 1 ? providers : providers.filter(({ organization }) => organization === inviting)
  const [only, ...others] = candidates
  if (only !== undefined && others.length === 0) return only
  throw unauthenticated(
    'several identity providers have the issuer and the client of this token, so its provider is ambiguous; sign in with a browser, or use a different client for each provider',
  )
}

/** Verifies a token of this server. */
async function verifyOwnToken(
  { authUrl, verify, readGrants }: RegistrationOptions,
  token: string,
): Promise<VerifiedUser> {
  const verified = await verify(token)
  if (verified instanceof ApiError) throw verified
  const { caller, audiences } = verified
  if (!audiences.includes(authUrl)) throw unauthenticated('the token is not for the token service')
  const grants = await readGrants(caller)
  if (grants === undefined) throw unauthenticated('the identity of this token no longer exists')
  if (isNarrowed(caller))
    throw permissionDenied('a token that is narrowed to scopes or capabilities cannot register')
  return { identity: caller.identity as Uid, voucher: grants.voucher }
}

function untrustedIssuer(): ApiError {
  return unauthenticated('the token is not from an identity provider of this server')
}
