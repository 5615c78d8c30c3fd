import { SignatureFormat as Format } from '@berth/contract/gen/berth/registry/v1/signatures_pb.js'
import { rootOf } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import type { BlobStore } from '../registry/blobs/blob-store.ts'
import { readSmallBlobs } from '../registry/inspection/small-blobs.ts'
import type { Db } from '../storage/db.ts'
import { type Candidate, InvalidSignature, printable } from './formats/candidate.ts'
import { readCosignSignature, SIMPLE_SIGNING_TYPE } from './formats/cosign.ts'
import { COSE_TYPE, readNotationCose } from './formats/notation-cose.ts'
import { JWS_TYPE, readNotationJws } from './formats/notation-jws.ts'
import { type Members, members, parseSignatureObject } from './formats/signature-json.ts'
import { readSigstoreBundle, SIGN_PREDICATE } from './formats/sigstore-bundle.ts'
import {
  BUNDLE_TYPE_PREFIX,
  COSIGN_ARTIFACT_TYPE,
  NOTATION_TYPE,
  type SignatureManifest,
} from './signature-inputs.ts'
import type { FoundSignature } from './verification/verify-signature.ts'

/** Reads the signatures of an image from the manifests that hold them. */

export interface FoundSignatures {
  readonly found: readonly FoundSignature[]
  /** Whether there are more. */
  readonly truncated: boolean
  /** Whether a part could not be read now, so that the result is not stored. */
  readonly incomplete: boolean
}

interface Sources {
  readonly db: Db
  readonly blobs: Pick<BlobStore, 'read'>
}

interface Layer {
  readonly digest: string
  readonly size: number
  readonly mediaType: string
  readonly annotations: Members
}

export async function readSignatures(
  sources: Sources,
  { repo, image }: { readonly repo: string; readonly image: string },
  manifests: readonly SignatureManifest[],
): Promise<FoundSignatures> {
  const found: FoundSignature[] = []
  let incomplete = false
  for (const manifest of manifests) {
    const room = limits.imageSignaturesMax - found.length
    if (room <= 0) return { found, truncated: true, incomplete }
    const read = await readManifest(sources, { repo, image }, manifest, room)
    found.push(...read.found)
    incomplete ||= read.incomplete
    if (read.truncated) return { found, truncated: true, incomplete }
  }
  return { found, truncated: false, incomplete }
}

async function readManifest(
  { db, blobs }: Sources,
  { repo, image }: { readonly repo: string; readonly image: string },
  manifest: SignatureManifest,
  max: number,
): Promise<FoundSignatures> {
  const format = formatOf(manifest)
  const invalid = (reason: string): FoundSignature => ({
    digest: manifest.digest,
    tag: manifest.tag,
    format,
    content: { kind: 'invalid', reason },
  })
  const content = await readContent(db, repo, manifest.digest)
  // Deleted meanwhile: the next read has other inputs.
  if (content === undefined) return { found: [], truncated: false, incomplete: true }
  let parsed: { readonly annotations: Members; readonly layers: readonly Layer[] }
  try {
    parsed = parseManifest(content)
  } catch (error) {
    return { found: [invalid(reasonOf(error))], truncated: false, incomplete: false }
  }
  const predicate = parsed.annotations['dev.sigstore.bundle.predicateType']
  const isAttestation = typeof predicate === 'string' && predicate !== SIGN_PREDICATE
  if (isAttestation) return { found: [], truncated: false, incomplete: false }
  const layers = parsed.layers.filter(({ mediaType }) => readerOf(mediaType) !== undefined)
  if (layers.length === 0)
    return {
      found: [invalid('the manifest has no layer with a signature')],
      truncated: false,
      incomplete: false,
    }
  const read = layers.slice(0, max)
  const small = read.filter(({ size }) => size <= limits.signatureBytesMax)
  const contents = await readSmallBlobs(db, blobs, repo, small)
  const found: FoundSignature[] = []
  for (const layer of read) {
    const bytes = contents.get(layer.digest)
    if (layer.size > limits.signatureBytesMax || (bytes?.length ?? 0) > limits.signatureBytesMax)
      found.push(invalid(`the signature has more than ${limits.signatureBytesMax} bytes`))
    else if (bytes === undefined) found.push(invalid('the signature cannot be read now'))
    else {
      const signature = readLayer(layer, bytes, image)
      if (signature !== undefined) found.push({ ...invalid(''), content: signature })
    }
  }
  return {
    found,
    truncated: layers.length > max,
    incomplete: small.some(({ digest }) => !contents.has(digest)),
  }
}

async function readContent({ kysely }: Db, repo: string, digest: string): Promise<Uint8Array | undefined> {
  const row = await kysely
    .selectFrom('manifests')
    .select(['size', 'content'])
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row?.content
}

function parseManifest(content: Uint8Array) {
  if (content.length > limits.signatureManifestBytesMax)
    throw new InvalidSignature(`the manifest has more than ${limits.signatureManifestBytesMax} bytes`)
  const { annotations, layers } = parseSignatureObject(content, 'the manifest')
  return {
    annotations: members(annotations),
    layers: (Array.isArray(layers) ? layers : []).map((layer): Layer => {
      const { digest, size, mediaType, annotations: own } = members(layer)
      return {
        digest: String(digest),
        size: Number(size),
        mediaType: String(mediaType),
        annotations: members(own),
      }
    }),
  }
}

type ReadLayer = (bytes: Uint8Array, image: string, annotations: Members) => Candidate | undefined

function readerOf(mediaType: string): ReadLayer | undefined {
  if (mediaType === SIMPLE_SIGNING_TYPE)
    return (bytes, image, annotations) => readCosignSignature(bytes, annotations, image)
  if (mediaType.startsWith(BUNDLE_TYPE_PREFIX)) return readSigstoreBundle
  if (mediaType === JWS_TYPE) return readNotationJws
  if (mediaType === COSE_TYPE) return readNotationCose
  return undefined
}

/** Returns undefined for what is not a signature of the image, such as an attestation. */
function readLayer(
  { mediaType, annotations }: Layer,
  bytes: Uint8Array,
  image: string,
): FoundSignature['content'] | undefined {
  try {
    return readerOf(mediaType)?.(bytes, image, annotations)
  } catch (error) {
    return { kind: 'invalid', reason: reasonOf(error) }
  }
}

/** Errors of libraries come from the content too: parsers of ASN.1 throw errors of every kind. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  const text = error instanceof InvalidSignature ? message : `the signature cannot be read: ${message}`
  return printable(text, limits.signatureReasonCharsMax)
}

function formatOf({ tag, artifactType }: SignatureManifest): Format {
  if (tag !== '' || artifactType === COSIGN_ARTIFACT_TYPE) return Format.COSIGN
  return artifactType === NOTATION_TYPE ? Format.NOTATION : Format.SIGSTORE_BUNDLE
}
