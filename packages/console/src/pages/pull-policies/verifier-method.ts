import type { SignatureVerifier, SignatureVerifierInput } from '@berth/client'

/** What a verifier trusts, as it is typed. */

export type MethodKind = 'key' | 'certificate' | 'notation'

/** Fields of all methods: lists of PEM blocks follow each other, identities of Notation have a line each. */
export interface MethodDraft {
  readonly kind: MethodKind
  readonly key: string
  readonly authorities: string
  readonly identity: string
  readonly isIdentityPattern: boolean
  readonly issuer: string
  readonly isIssuerPattern: boolean
  readonly logKeys: string
  readonly timestampAuthorities: string
  readonly certificateLogKeys: string
  readonly identities: string
}

export const methodChoices: readonly { readonly id: MethodKind; readonly name: string }[] = [
  { id: 'key', name: 'Public key (cosign)' },
  { id: 'certificate', name: 'Identities of certificates (cosign, keyless)' },
  { id: 'notation', name: 'Trust store (Notation)' },
]

export const kindOf = ({ publicKey, certificate }: SignatureVerifier): MethodKind =>
  publicKey !== undefined ? 'key' : certificate !== undefined ? 'certificate' : 'notation'

export function draftOf(verifier: SignatureVerifier | undefined): MethodDraft {
  const { publicKey, certificate, notation } = verifier ?? {}
  return {
    kind: verifier === undefined ? 'key' : kindOf(verifier),
    key: publicKey?.key ?? '',
    authorities: certificate?.authorities ?? notation?.authorities ?? '',
    identity: certificate?.identity ?? certificate?.identityPattern ?? '',
    isIdentityPattern: certificate?.identityPattern !== undefined,
    issuer: certificate?.issuer ?? certificate?.issuerPattern ?? '',
    isIssuerPattern: certificate?.issuerPattern !== undefined,
    logKeys: (publicKey?.logKeys ?? certificate?.logKeys ?? []).join('\n'),
    timestampAuthorities: (certificate?.timestampAuthorities ?? []).join('\n\n'),
    certificateLogKeys: (certificate?.certificateLogKeys ?? []).join('\n'),
    identities: (notation?.identities ?? []).join('\n'),
  }
}

type Method = Pick<SignatureVerifierInput, 'publicKey' | 'certificate' | 'notation'>

/** The method to send. The server checks keys, certificates and patterns. */
export function methodOf(draft: MethodDraft): Method {
  const { key, authorities, logKeys } = draft
  switch (draft.kind) {
    case 'key':
      return { publicKey: { key, logKeys: blocksOf(logKeys) } }
    case 'notation':
      return { notation: { authorities, identities: partsOf(draft.identities, /\n/) } }
    case 'certificate':
      return {
        certificate: {
          authorities,
          [draft.isIdentityPattern ? 'identityPattern' : 'identity']: draft.identity.trim(),
          [draft.isIssuerPattern ? 'issuerPattern' : 'issuer']: draft.issuer.trim(),
          logKeys: blocksOf(logKeys),
          timestampAuthorities: partsOf(draft.timestampAuthorities, /\n\s*\n/),
          certificateLogKeys: blocksOf(draft.certificateLogKeys),
        },
      }
  }
}

/** Splits after the end of each PEM block. */
const blocksOf = (text: string): string[] => partsOf(text, /(?<=-----END [A-Z ]+-----)/)

const partsOf = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== '')

/** Whom a verifier trusts, in one line; '' for a key. */
export const trustText = ({ certificate, notation }: SignatureVerifier): string =>
  certificate?.identity ?? certificate?.identityPattern ?? notation?.identities.join('; ') ?? ''
