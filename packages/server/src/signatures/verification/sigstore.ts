import type { X509Certificate } from 'node:crypto'
import { X509Certificate as SigstoreCertificate } from '@sigstore/core'
import { type SignedEntity, type TrustMaterial, Verifier } from '@sigstore/verify'
import { limits } from '../../config/limits.ts'
import { printable, type SigstoreCandidate } from '../formats/candidate.ts'
import { always, type SigstoreMaterial, type SigstoreTrust } from '../verifiers/trusted-verifier.ts'
import type { Outcome } from './outcome.ts'

/** Verifies signatures of cosign and sigstore bundles with a verifier, without a network. */

export function verifySigstore({ entity }: SigstoreCandidate, trust: SigstoreTrust): Outcome {
  const { material, signer: match } = trust
  if (match !== undefined && entity.key.$case !== 'certificate')
    return { problem: 'the signature has no certificate' }
  const usesLogs = material.tlogs.length > 0
  try {
    const verifier = new Verifier(
      { ...trustMaterialOf(material), tlogs: namedLogs(entity, material.tlogs) },
      {
        ctlogThreshold: match !== undefined && material.ctlogs.length > 0 ? 1 : 0,
        tlogThreshold: usesLogs ? 1 : 0,
        timestampThreshold: match === undefined ? 0 : 1,
      },
    )
    const { identity } = verifier.verify(relevantParts(entity, trust))
    const subject = identity?.subjectAlternativeName ?? ''
    const issuer = identity?.extensions?.issuer ?? ''
    if (match !== undefined && !match.identity(subject))
      return { problem: `does not trust the identity ${printable(subject, limits.verifierIdentityCharsMax)}` }
    if (match !== undefined && !match.issuer(issuer))
      return { problem: `does not trust the issuer ${printable(issuer, limits.verifierIdentityCharsMax)}` }
    return { identity: match === undefined ? '' : subject, issuer, signedMs: timeOf(entity, trust) }
  } catch (error) {
    return { problem: reasonOf(error) }
  }
}

const trustMaterials = new WeakMap<SigstoreMaterial, TrustMaterial>()

function trustMaterialOf(material: SigstoreMaterial): TrustMaterial {
  const known = trustMaterials.get(material)
  if (known !== undefined) return known
  const { authorities, timestampAuthorities, ...rest } = material
  const converted = {
    ...rest,
    certificateAuthorities: authorities.length === 0 ? [] : [toAuthority(authorities)],
    timestampAuthorities: timestampAuthorities.map(toAuthority),
  }
  trustMaterials.set(material, converted)
  return converted
}

function toAuthority(certificates: readonly X509Certificate[]) {
  const certChain = certificates.map(({ raw }) => SigstoreCertificate.parse(Buffer.from(raw)))
  return { certChain, validFor: always }
}

/**
 * Returns the parts of a signature that a verifier can verify: entries of logs and timestamps count only for verifiers with keys for them. A
 * public key verifies the signature whether or not it comes with a certificate.
 */
function relevantParts(entity: SignedEntity, { material, signer }: SigstoreTrust): SignedEntity {
  const usesLogs = material.tlogs.length > 0
  const usesTimestamps = material.timestampAuthorities.length > 0
  return {
    signature: entity.signature,
    key: signer === undefined ? { $case: 'public-key', hint: '' } : entity.key,
    tlogEntries: usesLogs ? entity.tlogEntries : [],
    timestamps: entity.timestamps.filter(({ $case }) =>
      $case === 'transparency-log' ? usesLogs : usesTimestamps,
    ),
  }
}

/**
 * Returns logs whose addresses have every name of the checkpoints: a checkpoint counts by the key that signed it, and the library also
 * searches the name in the address of the log, which keys do not have.
 */
function namedLogs(entity: SignedEntity, logs: TrustMaterial['tlogs']): TrustMaterial['tlogs'] {
  const baseURL = entity.tlogEntries
    .map(({ inclusionProof }) => inclusionProof?.checkpoint?.envelope ?? '')
    .join('\n')
  return logs.map((log) => ({ ...log, baseURL }))
}

/** The earliest verified time of a signature. */
function timeOf(entity: SignedEntity, trust: SigstoreTrust): number | undefined {
  const times = relevantParts(entity, trust).timestamps.flatMap((timestamp) => {
    if (timestamp.$case === 'timestamp-authority') return [timestamp.timestamp.signingTime.getTime()]
    const { inclusionPromise, integratedTime } = timestamp.tlogEntry
    return inclusionPromise === undefined ? [] : [Number(integratedTime) * 1000]
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'cannot verify the signature'
  // Errors of the parser of certificates, and a stack that overflows, come from the content.
  const { message, cause } = error
  const detail = cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message
  return printable(detail, limits.signatureReasonCharsMax)
}
