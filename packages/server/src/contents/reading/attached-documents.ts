import {
  type Attachment,
  attestationManifests,
  classifyArtifact,
  isAboutContents,
  isAboutIndexes,
} from '@berth/image-contents/attestations/classify-artifact.ts'
import { type Attestation, readAttestation } from '@berth/image-contents/attestations/read-attestation.ts'
import type { ContentsProblem } from '@berth/image-contents/contents.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import type { SbomDocument } from '@berth/image-contents/sbom/sbom-document.ts'
import { limits } from '../../config/limits.ts'
import { countOf, isReport, type ReadReport, readReport } from './attached-report.ts'
import { formatName, parseManifest, reasonOf } from './manifest-parts.ts'
import {
  blobStream,
  type FoundDocument,
  type FoundReport,
  manifestStream,
  type ReadImageRequest,
} from './reading.ts'

/** Reads the documents that are attached to an image: SBOMs, VEX and reports, plain or as attestations; of those of its indexes, VEX only. */

export type Open = (name: string) => AsyncIterable<Uint8Array>

export interface AttachedDocuments {
  /** The first SBOM that could be read; SBOMs that are attached by themselves are before attestations. */
  readonly sbom: { readonly format: string; readonly document: SbomDocument } | undefined
  readonly documents: readonly FoundDocument[]
  readonly vex: readonly VexDocument[]
  readonly reports: readonly FoundReport[]
  readonly problems: readonly ContentsProblem[]
}

/** A VEX document about the image. */
export interface VexDocument {
  /** Digest of the blob with it, or with its attestation. */
  readonly blob: string
  readonly bytes: Uint8Array
  /** What it is attached to: the image, or an index that contains it. */
  readonly subject: string
}

type Candidate = Attachment & { readonly manifest: string; readonly subject: string }

export async function readAttachedDocuments(
  request: ReadImageRequest,
  open: Open,
): Promise<AttachedDocuments> {
  const problems: ContentsProblem[] = []
  const documents: FoundDocument[] = []
  const vex: VexDocument[] = []
  const reports: FoundReport[] = []
  let sbom: AttachedDocuments['sbom']
  let bytesLeft: number = limits.contentsFilesBytesMax
  for (const candidate of await listCandidates(request, open, problems)) {
    const { manifest, digest, subject } = candidate
    try {
      const found = await readCandidate(candidate, open)
      if (found === undefined) continue
      // An index contains several images: a list of packages, or a report, is about one of them.
      if (subject !== request.digest && found.vex === undefined) continue
      const { kind, document, predicate = new Uint8Array(), vex: bytes } = found
      const report = found.report && readReportOf(found, found.report)
      const format = found.format || (report?.format ?? '')
      if (bytes !== undefined) vex.push({ blob: digest, bytes, subject })
      const isStored = predicate.length <= bytesLeft
      if (isStored) bytesLeft -= predicate.length
      documents.push({
        kind,
        format,
        manifest,
        blob: digest,
        path: '',
        content: isStored ? predicate : new Uint8Array(),
      })
      if (document !== undefined) sbom ??= { format, document }
      if (report === undefined) continue
      if ('problem' in report)
        problems.push({ path: '', reason: `the attached document ${digest} ${report.problem}` })
      else {
        reports.push({ ...report, document: documents.length - 1 })
        problems.push(...omittedFindings(digest, report))
      }
    } catch (error) {
      problems.push({ path: '', reason: `the attached document ${digest} is invalid: ${reasonOf(error)}` })
    }
  }
  return { sbom, documents, vex, reports: latestReports(reports, problems), problems }
}

/** An SBOM whose vulnerabilities cannot be read is an SBOM nevertheless. */
function readReportOf({ kind }: ReadDocument, bytes: Uint8Array) {
  try {
    return readReport(bytes)
  } catch (error) {
    if (kind === 'report') throw error
    return { problem: `has invalid vulnerabilities: ${reasonOf(error)}`, format: '' }
  }
}

function omittedFindings(digest: string, report: ReadReport): ContentsProblem[] {
  const found = countOf(report)
  return report.stored === found
    ? []
    : [
        {
          path: '',
          reason: `the attached report ${digest} has ${found} findings, the ${report.stored} most severe are stored (contentsReportFindingsMax, contentsReportStoredBytesMax)`,
        },
      ]
}

function latestReports(reports: readonly FoundReport[], problems: ContentsProblem[]): FoundReport[] {
  const { contentsReportsMax: max } = limits
  if (reports.length > max)
    problems.push({
      path: '',
      reason: `${reports.length} reports of scanners are attached, the latest ${max} are stored (contentsReportsMax)`,
    })
  return reports.toSorted((a, b) => b.createdMs - a.createdMs).slice(0, max)
}

async function listCandidates(
  { digest, artifacts, indexes }: ReadImageRequest,
  open: Open,
  problems: ContentsProblem[],
): Promise<Candidate[]> {
  const candidates: Candidate[] = []
  const add = (manifest: string, content: Uint8Array, subject = digest) => {
    for (const attachment of classifyArtifact(parseManifest(content)))
      if (subject === digest ? isAboutContents(attachment) : isAboutIndexes(attachment))
        candidates.push({ ...attachment, manifest, subject })
  }
  for (const artifact of artifacts) add(artifact.digest, artifact.content)
  for (const index of indexes)
    for (const artifact of index.artifacts) add(artifact.digest, artifact.content, index.digest)
  for (const index of indexes)
    for (const attestation of attestationManifests(parseManifest(index.content))) {
      if (attestation.subject !== digest) continue
      if (candidates.some(({ manifest }) => manifest === attestation.digest)) continue
      try {
        const name = manifestStream(attestation.digest)
        add(attestation.digest, await collect(open(name), limits.manifestBytesMax))
      } catch (error) {
        const reason = `the attached manifest ${attestation.digest} is invalid: ${reasonOf(error)}`
        problems.push({ path: '', reason })
      }
    }
  const isAttestation = ({ holds }: Candidate) => (holds === 'attestation' ? 1 : 0)
  return candidates.sort((a, b) => isAttestation(a) - isAttestation(b)).slice(0, limits.contentsDocumentsMax)
}

interface ReadDocument {
  readonly kind: FoundDocument['kind']
  readonly format: string
  readonly document?: SbomDocument
  /** The document that an attestation contains. */
  readonly predicate?: Uint8Array
  readonly vex?: Uint8Array
  /** Of a scanner; an SBOM can be one too. */
  readonly report?: Uint8Array
}

/** Returns undefined for a document about something else. */
async function readCandidate(
  { digest, size, holds, subject }: Candidate,
  open: Open,
): Promise<ReadDocument | undefined> {
  const name = holds === 'scanner-report' ? 'contentsReportBytesMax' : 'contentsDocumentBytesMax'
  if (size > limits[name]) throw new Error(`it has more than ${limits[name]} bytes (${name})`)
  const bytes = await collect(open(blobStream(digest)), limits[name])
  if (holds === 'openvex') return { kind: 'vex', format: 'openvex', vex: bytes }
  if (holds === 'scanner-report') return { kind: 'report', format: '', report: bytes }
  if (holds !== 'attestation') return readSbomDocument(bytes)
  const attestation = readAttestation(bytes)
  return isAbout(attestation, subject) ? readPredicate(attestation) : undefined
}

/** An attestation states itself what it is about: being attached to another image does not change that. */
function isAbout({ subjects }: Attestation, image: string): boolean {
  return subjects.some(({ digests }) => digests.includes(image))
}

function readPredicate({ kind, content }: Attestation): ReadDocument | undefined {
  switch (kind) {
    case 'spdx':
    case 'cyclonedx':
      return { ...readSbomDocument(content), predicate: content }
    case 'openvex':
      return { kind: 'vex', format: 'openvex', predicate: content, vex: content }
    case 'vulnerabilities':
      return { kind: 'report', format: '', predicate: content, report: content }
    case 'custom':
      return isReport(content)
        ? { kind: 'report', format: '', predicate: content, report: content }
        : undefined
    default:
      return undefined
  }
}

function readSbomDocument(bytes: Uint8Array): ReadDocument {
  const document = readSbom(bytes)
  const { format, version, elements } = document
  // Vulnerabilities without components (a VDR) are about the packages of another document: no list of packages without any.
  if (elements.packages === 0 && elements.vulnerabilities > 0)
    return { kind: 'report', format: '', report: bytes }
  return {
    kind: 'sbom',
    format: formatName(format, version),
    document,
    ...(elements.vulnerabilities > 0 && { report: bytes }),
  }
}

/** Reads a stream to its end. Throws if it has more bytes. */
export async function collect(source: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`)
    chunks.push(Uint8Array.from(chunk))
  }
  return Buffer.concat(chunks)
}
