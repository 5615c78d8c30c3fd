import type { RegistrationRequest, Session } from '#gen/chainguard/platform/auth/auth_pb.js'
import { bearerToken } from '../auth/authenticate.ts'
import type { ReadGrants } from '../auth/grants.ts'
import { isNarrowed } from '../core/allowed.ts'
import type { Call } from '../core/call.ts'
import {
  ApiError,
  Code,
  invalidArgument,
  permissionDenied,
  unauthenticated,
  unavailable,
} from '../core/errors.ts'
import { readInviteCode } from '../core/invite-code.ts'
import { limits } from '../core/limits.ts'
import { fullNameOf } from '../core/method-name.ts'
import type { Uid } from '../core/uid.ts'
import { acceptInvite } from '../iam/invitations.ts'
import { lookupUser } from '../iam/user-lookup.ts'
import { recordEvent } from '../storage/audit-events.ts'
import { inTransaction } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import type { AccessTokens } from '../sts/access-token.ts'
import { checkSubjectToken, readSubjectToken } from '../sts/subject-token.ts'
import { untilOneFails } from '../trust/judges.ts'
import type { KeySource } from '../trust/key-set.ts'
import type { SubjectClaims } from '../trust/match.ts'
import { type Admission, admit } from './admission.ts'
import type { Provider, Providers } from './providers.ts'

/**
 * Registering with an ID token that somebody has already, from a provider that people sign in with here: what a browser would do
 * by going there. A token of ours registers nobody; with it somebody who is known accepts an invite.
 */

export interface RegistrationOptions {
  readonly store: Store
  /** `{auth_url}`. */
  readonly authUrl: string
  readonly verify: AccessTokens['verifyPerson']
  readonly readGrants: ReadGrants
  /** The published keys of an issuer. */
  readonly keysFor: (issuer: string) => KeySource
  readonly providers: Pick<Providers, 'trusting'>
  /** Told who was proven, before anything is made; may reject. */
  readonly proven: (identity: string, call: Call) => Promise<void> | undefined
  /** For the audit log. */
  readonly refused: (identity: string, why: ApiError, call: Call) => void
}

const RETRY_MS = 1000

export async function register(
  options: RegistrationOptions,
  request: RegistrationRequest,
  call: Call,
): Promise<Session> {
  const { store } = options
  const proof = await prove(options, bearerToken(call.authorization))
  const identity =
    'identity' in proof
      ? proof.identity
      : await lookupUser(store.db.kysely, proof.person.issuer, proof.person.subject)
  if (request.identityId !== '' && request.identityId !== identity)
    throw invalidArgument('identityId', 'must be the identity that the token stands for')
  await options.proven(identity, call)
  try {
    const group = await make(store, proof, identity, request.code, call)
    return { $typeName: 'chainguard.platform.auth.Session', identity, group }
  } catch (error) {
    if (error instanceof ApiError && error.code === Code.NOT_FOUND) options.refused(identity, error, call)
    throw error
  }
}

/** Somebody who is known here, or somebody of whom a provider speaks. */
type Proof = { readonly identity: Uid } | Admission

/** All that is written, at once; returns the group that was joined. */
function make(store: Store, proof: Proof, identity: string, code: string, call: Call): Promise<string> {
  const event = {
    timeMs: store.clock(),
    actor: identity,
    method: fullNameOf(call.called),
    requestId: call.requestId,
    address: call.address,
  }
  return inTransaction(store.db, async (tx) => {
    if ('person' in proof) {
      const admitted = await admit(store, tx, proof, { strangers: true })
      if (typeof admitted === 'string') throw untrusted()
      if (admitted.isNew) await recordEvent(tx, { ...event, uid: identity })
    }
    if (code === '') return ''
    try {
      const binding = await acceptInvite(store, tx, code, event)
      await recordEvent(tx, { ...event, uid: binding.uid })
      return binding.parent
    } catch (error) {
      // Whoever holds the role already has joined. Nothing was written by then.
      if (error instanceof ApiError && error.code === Code.ALREADY_EXISTS)
        return readInviteCode(code)?.group ?? ''
      throw error
    }
  })
}

async function prove(options: RegistrationOptions, token: string): Promise<Proof> {
  const read = readSubjectToken(token)
  if (!read.ok) throw unauthenticated(read.reason)
  const { claims } = read
  if (claims.issuer === options.authUrl) return { identity: await proveOwn(options, token) }
  // Nothing is asked of an issuer that nobody signs in with (R1).
  const providers = await options.providers.trusting(claims.issuer, claims.audience)
  if (providers.length === 0) throw untrusted()
  const { clock } = options.store
  const genuine = { keys: options.keysFor(claims.issuer), clock }
  const checked = await untilOneFails((judge) => checkSubjectToken(token, read, genuine, judge))
  if (!checked.ok) {
    const { fault, why } = checked.failed
    throw fault === 'elsewhere' ? unavailable(why, RETRY_MS) : unauthenticated(why)
  }
  if (claims.issuedAtMs !== undefined && clock() - claims.issuedAtMs > limits.subjectTokenAgeMsMax)
    throw unauthenticated('the token was issued too long ago')
  const provider = meant(claims, providers)
  if (provider === undefined) throw untrusted()
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

/**
 * The provider for which the token was made (OpenID Connect Core 1.0 section 3.1.3.7). Several organizations may have the same one;
 * none of them can claim somebody for itself then.
 */
function meant({ audience, payload }: SubjectClaims, providers: readonly Provider[]): Provider | undefined {
  const party = payload['azp'] ?? (audience.length === 1 ? audience[0] : undefined)
  const fitting = providers.filter(({ clientId }) => party === clientId)
  const [first] = fitting
  const shared = fitting.find(({ organization }) => organization === '')
  if (shared !== undefined || fitting.length < 2 || first === undefined) return shared ?? first
  return { ...first, organization: '', defaultRole: '' }
}

/** Whoever an own token speaks of, for as long as it opens anything. */
async function proveOwn({ authUrl, verify, readGrants }: RegistrationOptions, token: string): Promise<Uid> {
  const verified = await verify(token)
  if (verified instanceof ApiError) throw verified
  const { caller, audiences } = verified
  if (!audiences.includes(authUrl)) throw unauthenticated('the token is not for the token service')
  if ((await readGrants(caller)) === undefined) throw unauthenticated('whoever the token is for is gone')
  if (isNarrowed(caller))
    throw permissionDenied('a token that is narrowed to scopes or capabilities registers nobody')
  return caller.identity as Uid
}

function untrusted(): ApiError {
  return unauthenticated('the token is of no provider that people sign in with here')
}
