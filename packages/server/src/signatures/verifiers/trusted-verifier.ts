import { createHash, type KeyObject, type X509Certificate } from 'node:crypto'
import type {
  CertificateMethod,
  NotationMethod,
  PublicKeyMethod,
  SignatureVerifier,
} from '@berth/contract/gen/berth/registry/v1/signature_verifiers_pb.js'
import type { TrustMaterial } from '@sigstore/verify'
import type { FieldViolation } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { compilePattern } from '../../tokens/trust/patterns.ts'
import { parseAuthorities, parseTimestampAuthority } from './certificate-authorities.ts'
import { isProblem, type Problem, parseCertificates, parsePublicKey } from './pem.ts'
import { parseSubjectIdentity, type SubjectName } from './subject-names.ts'

/** Parses what a verifier trusts, with every violation of its fields. Pure. */

type Test = (value: string) => boolean

/** Trusts signatures of cosign and of sigstore bundles. */
export interface SigstoreTrust {
  readonly kind: 'sigstore'
  readonly material: SigstoreMaterial
  /** Undefined: a public key. */
  readonly signer: { readonly identity: Test; readonly issuer: Test } | undefined
}

/** What the library trusts, with certificates of Node: those of the library are made with the first signature. */
export interface SigstoreMaterial
  extends Omit<TrustMaterial, 'certificateAuthorities' | 'timestampAuthorities'> {
  readonly authorities: readonly X509Certificate[]
  /** A chain for each authority. */
  readonly timestampAuthorities: readonly (readonly X509Certificate[])[]
}

/** Trusts signatures of Notation. */
export interface NotationTrust {
  readonly kind: 'notation'
  readonly authorities: readonly X509Certificate[]
  /** `*`: every subject. */
  readonly subjects: readonly SubjectName[] | '*'
}

export type Trust = SigstoreTrust | NotationTrust

type Parsed = { readonly trust: Trust } | { readonly violations: readonly FieldViolation[] }

export function parseTrust({ method }: Pick<SignatureVerifier, 'method'>): Parsed {
  const violations: FieldViolation[] = []
  const trust = trustOf(method, violations)
  return trust === undefined || violations.length > 0 ? { violations } : { trust }
}

function trustOf(method: SignatureVerifier['method'], violations: FieldViolation[]): Trust | undefined {
  switch (method.case) {
    case 'publicKey':
      return publicKeyTrust(method.value, violations)
    case 'certificate':
      return certificateTrust(method.value, violations)
    case 'notation':
      return notationTrust(method.value, violations)
    case undefined:
      violations.push({ field: 'publicKey', description: 'publicKey, certificate or notation is required' })
      return undefined
    default:
      return method satisfies never
  }
}

/** Of keys and certificates: what vouches for a time decides. */
export const always = { start: new Date(0), end: new Date(8_640_000_000_000_000) }

function publicKeyTrust({ key, logKeys }: PublicKeyMethod, violations: FieldViolation[]): Trust | undefined {
  const publicKey = collect(violations, 'publicKey.key', parsePublicKey(key))
  const tlogs = parseLogKeys(logKeys, 'publicKey.logKeys', violations)
  return (
    publicKey && {
      kind: 'sigstore',
      signer: undefined,
      material: {
        authorities: [],
        timestampAuthorities: [],
        ctlogs: [],
        tlogs,
        publicKey: () => ({ publicKey, validFor: () => true }),
      },
    }
  )
}

function certificateTrust(method: CertificateMethod, violations: FieldViolation[]): Trust | undefined {
  const at = (field: string) => `certificate.${field}`
  const authorities = collect(violations, at('authorities'), parseAuthorities(method.authorities))
  const tlogs = parseLogKeys(method.logKeys, at('logKeys'), violations)
  const ctlogs = parseLogKeys(method.certificateLogKeys, at('certificateLogKeys'), violations)
  const timestampAuthorities = parseTimestampAuthorities(method.timestampAuthorities, violations)
  if (method.logKeys.length + method.timestampAuthorities.length === 0)
    violations.push({
      field: at('logKeys'),
      description: 'logKeys or timestampAuthorities are required: they prove when the signature was made',
    })
  const identity = parseMatch(method.identityMatch, at('identity'), violations)
  const issuer = parseMatch(method.issuerMatch, at('issuer'), violations)
  return (
    authorities &&
    identity &&
    issuer && {
      kind: 'sigstore',
      signer: { identity, issuer },
      material: {
        authorities,
        timestampAuthorities,
        tlogs,
        ctlogs,
        publicKey: () => {
          throw new Error('a certificate is required')
        },
      },
    }
  )
}

function notationTrust(method: NotationMethod, violations: FieldViolation[]): Trust | undefined {
  const authorities = collect(violations, 'notation.authorities', parseCertificates(method.authorities))
  const subjects = parseSubjects(method.identities, violations)
  return authorities && { kind: 'notation', authorities, subjects }
}

function parseSubjects(
  identities: readonly string[],
  violations: FieldViolation[],
): readonly SubjectName[] | '*' {
  const field = 'notation.identities'
  const max = limits.verifierIdentitiesMax
  if (identities.length === 0 || identities.length > max)
    violations.push({ field, description: `must have 1 to ${max} entries` })
  if (identities.length === 1 && identities[0] === '*') return '*'
  const names: SubjectName[] = []
  for (const [at, text] of identities.slice(0, max).entries()) {
    const name = collect(
      violations,
      `${field}[${at}]`,
      text.length <= limits.verifierIdentityCharsMax ? parseSubjectIdentity(text) : tooLong,
    )
    if (name !== undefined) names.push(name)
  }
  return names
}

const tooLong: Problem = { problem: `must have at most ${limits.verifierIdentityCharsMax} characters` }

type Match = CertificateMethod['identityMatch'] | CertificateMethod['issuerMatch']

/** `name`: identity or issuer. */
function parseMatch(match: Match, field: string, violations: FieldViolation[]): Test | undefined {
  switch (match.case) {
    case 'identity':
    case 'issuer': {
      const { value } = match
      const problem =
        value === ''
          ? 'must not be empty'
          : value.length > limits.verifierIdentityCharsMax
            ? tooLong.problem
            : ''
      if (problem !== '') violations.push({ field, description: problem })
      return (text) => text === value
    }
    case 'identityPattern':
    case 'issuerPattern': {
      const pattern = match.value === '' ? { error: 'must not be empty' } : compilePattern(match.value)
      if (!('error' in pattern)) return pattern.test
      violations.push({ field: `${field}Pattern`, description: pattern.error })
      return undefined
    }
    case undefined:
      violations.push({ field, description: `is required, or ${field.split('.').at(-1)}Pattern` })
      return undefined
    default:
      return match satisfies never
  }
}

function parseLogKeys(
  keys: readonly string[],
  field: string,
  violations: FieldViolation[],
): TrustMaterial['tlogs'] {
  const max = limits.verifierKeysMax
  if (keys.length > max) violations.push({ field, description: `must have at most ${max} entries` })
  const logs: TrustMaterial['tlogs'] = []
  for (const [at, pem] of keys.slice(0, max).entries()) {
    const publicKey = collect(violations, `${field}[${at}]`, parsePublicKey(pem))
    if (publicKey !== undefined)
      logs.push({ logID: logIdOf(publicKey), baseURL: '', publicKey, validFor: always })
  }
  return logs
}

/** Returns the SHA-256 of a key, which names its log (RFC 6962). */
function logIdOf(key: KeyObject): Buffer {
  return createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
}

function parseTimestampAuthorities(
  chains: readonly string[],
  violations: FieldViolation[],
): SigstoreMaterial['timestampAuthorities'] {
  const field = 'certificate.timestampAuthorities'
  const max = limits.verifierKeysMax
  if (chains.length > max) violations.push({ field, description: `must have at most ${max} entries` })
  const authorities: (readonly X509Certificate[])[] = []
  for (const [at, pem] of chains.slice(0, max).entries()) {
    const chain = collect(violations, `${field}[${at}]`, parseTimestampAuthority(pem))
    if (chain !== undefined) authorities.push(chain)
  }
  return authorities
}

function collect<T extends object>(
  violations: FieldViolation[],
  field: string,
  parsed: T | Problem,
): T | undefined {
  if (!isProblem(parsed)) return parsed
  violations.push({ field, description: parsed.problem })
  return undefined
}
