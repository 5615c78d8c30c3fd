import { rootOf, type Uid } from '../api/uid.ts'

/**
 * Decides how far a session or a token counts, by who vouched that its bearer is the person (ADR 13). Every question about this is
 * answered here, from stored facts, at the time of the request.
 */

/** Who vouched for the person of a session. */
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
  /** The verified address in the provider's claims; '' if there is none. It counts in the provider's organization only. */
  readonly email: string
}

export type Voucher =
  | SessionVoucher
  /** No session: the token of a workload, of `berth admin token`, or exchanged for a token of the operator's provider. */
  | { readonly kind: 'direct' }

/**
 * Through which organization's provider a binding was accepted, or a person was registered: the uid of the provider. '' means that no
 * such provider is on record, and matches no voucher.
 */
export type RecordedProvider = Uid | ''

/** Whether a voucher counts in every organization and on the platform. */
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

/** Whether a role that is held at `scope` ('' for the platform) counts. */
export function isBindingEffective(
  voucher: Voucher,
  { scope, acceptedThrough }: { readonly scope: string; readonly acceptedThrough: string },
): boolean {
  if (isTrustedEverywhere(voucher)) return true
  return scope !== '' && (rootOf(scope) === rootOf(voucher.provider) || acceptedThrough === voucher.provider)
}

/** Whether the bearer may act on the person as a whole: their account, sessions, profile, and organizations to create. */
export function hasUserAuthority(voucher: Voucher, registeredThrough: string): boolean {
  return isTrustedEverywhere(voucher) || registeredThrough === voucher.provider
}

/** A verified e-mail address of a person. */
export interface VerifiedEmail {
  /** '' if there is none. */
  readonly address: string
  /** Whether an organization (uid) may rely on it. */
  isTrustedIn(organization: string): boolean
}

/** `known` is the verified address of the identity, which only vouchers that count everywhere may use. */
export function verifiedEmailOf(voucher: Voucher, identityEmail: string): VerifiedEmail {
  if (isTrustedEverywhere(voucher)) return { address: identityEmail, isTrustedIn: () => true }
  const own = rootOf(voucher.provider)
  return { address: voucher.email, isTrustedIn: (organization) => organization === own }
}

/** What a binding records that is made by accepting an invite, by a first sign-in, or by creating an organization. */
export function recordedProviderOf(voucher: Voucher): RecordedProvider {
  return isTrustedEverywhere(voucher) ? '' : voucher.provider
}
