import {
  type ImageSignature,
  ImageSignatureSchema,
  type SignatureFormat,
  SignatureState as State,
} from '@berth/contract/gen/berth/registry/v1/signatures_pb.js'
import { create } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { type Candidate, printable } from '../formats/candidate.ts'
import type { TrustedVerifier } from '../verifiers/applied-verifiers.ts'
import { verifyNotation } from './notation.ts'
import { isVerified, type Outcome } from './outcome.ts'
import { verifySigstore } from './sigstore.ts'

/** Verifies one signature with all verifiers. */

/** A signature that was found: one that can be verified, or why it is invalid. */
export interface FoundSignature {
  /** Of the manifest that holds it. */
  readonly digest: string
  /** '' for a referrer. */
  readonly tag: string
  readonly format: SignatureFormat
  readonly content: Candidate | { readonly kind: 'invalid'; readonly reason: string }
}

export interface VerifiedSignature {
  readonly signature: ImageSignature
  /** Time from which the result may differ. Undefined: it does not change. */
  readonly untilMs: number | undefined
}

export async function verifySignature(
  { digest, tag, format, content }: FoundSignature,
  verifiers: readonly TrustedVerifier[],
  nowMs: number,
): Promise<VerifiedSignature> {
  const signature = create(ImageSignatureSchema, { digest, tag, format })
  if (content.kind === 'invalid') {
    signature.state = State.INVALID
    signature.reason = content.reason
    return { signature, untilMs: undefined }
  }
  if (content.kind === 'sigstore') signature.dockerReference = content.dockerReference
  const problems: string[] = []
  const changes: number[] = []
  for (const { uid, name, trust } of verifiers) {
    // Verification is synchronous: other requests run in between.
    await yieldToEventLoop()
    const outcome = await verifyWith(content, trust, nowMs)
    if (outcome === undefined) continue
    if (outcome.untilMs !== undefined) changes.push(outcome.untilMs)
    if (isVerified(outcome))
      signature.verifications.push({
        $typeName: 'berth.registry.v1.SignatureVerification',
        verifier: uid,
        verifierName: name,
        identity: outcome.identity,
        issuer: outcome.issuer,
        ...(outcome.signedMs !== undefined && { signTime: timestampOf(outcome.signedMs) }),
      })
    else problems.push(`${name}: ${outcome.problem}`)
  }
  const isTrusted = signature.verifications.length > 0
  signature.state = isTrusted ? State.VERIFIED : State.UNTRUSTED
  if (!isTrusted)
    signature.reason =
      problems.length === 0
        ? 'no verifier of this kind of signature applies to the repo'
        : printable(problems.join('; '), limits.signatureReasonCharsMax)
  return { signature, untilMs: changes.length === 0 ? undefined : Math.min(...changes) }
}

/** Returns undefined if the verifier is for signatures of another kind. */
async function verifyWith(
  candidate: Candidate,
  trust: TrustedVerifier['trust'],
  nowMs: number,
): Promise<Outcome | undefined> {
  if (candidate.kind === 'sigstore')
    return trust.kind === 'sigstore' ? verifySigstore(candidate, trust) : undefined
  return trust.kind === 'notation' ? verifyNotation(candidate, trust, nowMs) : undefined
}
