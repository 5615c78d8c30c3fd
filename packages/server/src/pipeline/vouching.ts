import { rootOf, type Uid } from '../api/uid.ts'

/**
 * Decides where a session or a token is effective, by who vouched for the identity of its bearer (ADR 13), from stored facts at the time
 * of the request.
 */

/** Who vouched for the user of a session. */
export type SessionVoucher =
  /** A local account: password or passkey. */
  | { readonly kind: 'account' }
  /** An identity provider of the operator. */
  | { readonly kind: 'operator' }
  /** An identity provider of an organization. */
  | OrganizationVoucher

export interface OrganizationVoucher {
  readonly kind: 'organization'
  /** uid of the identity provider; its root is the organization. */
  readonly provider: Uid
  /** The verified address in the provider's claims; '' if there is none. It is trusted in the provider's organization only. */
  readonly email: string
}

export type Voucher =
  | SessionVoucher
  /** No session: the token of a workload, of `berth admin token`, or exchanged for a token of the operator's provider. */
  | { readonly kind: 'direct' }

/**
 * The uid of the organization's provider through which a binding was accepted, or a user was registered. '' means that none is recorded,
 * and matches no voucher.
 */
export type RecordedProvider = Uid | ''

/** Whether a voucher is trusted in every organization and on the platform. */
export function isTrustedEverywhere(voucher: Voucher): voucher is Exclude<Voucher, OrganizationVoucher> {
  switch (voucher.kind) {
    case 'account':
    case 'operator':
    case 'direct':
      return true
    case 'organization':
      return false
    default:
      return voucher satisfies never
  }
}

/** Whether a role binding at `scope` ('' for the platform) is effective. */
export function isBindingEffective(
  voucher: Voucher,
  { scope, acceptedThrough }: { readonly scope: string; readonly acceptedThrough: string },
): boolean {
  if (isTrustedEverywhere(voucher)) return true
  return scope !== '' && (rootOf(scope) === rootOf(voucher.provider) || acceptedThrough === voucher.provider)
}

/** Whether the bearer may act on the user as a whole: account, sessions, profile, and new organizations. */
export function hasUserAuthority(voucher: Voucher, registeredThrough: string): boolean {
  return isTrustedEverywhere(voucher) || registeredThrough === voucher.provider
}

/** A verified email address of a user. */
export interface VerifiedEmail {
  /** '' if there is none. */
  readonly address: string
  /** uid of the only organization that may rely on it; undefined if all may. */
  readonly organization: string | undefined
  /** Whether an organization (uid) may rely on it. */
  isTrustedIn(organization: string): boolean
}

/** `identityEmail` is the verified address of the identity; only vouchers that are trusted everywhere may use it. */
export function verifiedEmailOf(voucher: Voucher, identityEmail: string): VerifiedEmail {
  const own = isTrustedEverywhere(voucher) ? undefined : rootOf(voucher.provider)
  return {
    address: isTrustedEverywhere(voucher) ? identityEmail : voucher.email,
    organization: own,
    isTrustedIn: (organization) => own === undefined || organization === own,
  }
}

/** Returns what a new binding records when a user accepts an invite, signs in for the first time, or creates an organization. */
export function recordedProviderOf(voucher: Voucher): RecordedProvider {
  return isTrustedEverywhere(voucher) ? '' : voucher.provider
}
