import type { AdvisoryRecord } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { falsePositiveLabel } from '@berth/advisory-formats/vex/false-positive-label.ts'
import { PackageURL } from 'packageurl-js'
import type { ImagePackage } from '../contents.ts'
import { DocumentProblem } from '../documents/document-problem.ts'

/** What a VEX document states about vulnerabilities of one image. */
export interface ImageStatement {
  /** The ID of the vulnerability and its aliases. */
  readonly vulnerabilities: readonly string[]
  /** Package URLs of the packages of the image that it is about; undefined: all. */
  readonly purls: readonly string[] | undefined
  readonly state: 'affected' | 'not-affected'
  readonly justification: string
  /** Milliseconds since 1970. */
  readonly timeMs: number
}

/** Types of package URLs for images. */
const imageTypes = new Set(['oci', 'docker'])

/** An image, and what a document is attached to: the image, or an index that contains it. */
export interface DescribedImage {
  readonly digest: string
  readonly subject: string
}

/**
 * Reads the statements of an OpenVEX document that apply to an image with these packages. Which these are depends on the product:
 *
 * - none, the digest of the image or of the index with the document, or a package URL of an image without another digest: about the image
 * - a package URL of a package in the image, in the product or its subcomponents: about this package
 *
 * All others are left out, and so are open investigations: they decide nothing. Throws a DocumentProblem for an invalid document.
 */
export function readImageStatements(
  bytes: Uint8Array,
  image: DescribedImage,
  packages: readonly ImagePackage[],
): ImageStatement[] {
  const read = readDocument('document.json', 'openvex', withProducts(bytes, image.subject))
  if ('rejection' in read) throw new DocumentProblem(read.rejection.reason)
  return read.document.advisories.flatMap((record) => {
    const decision = decisionOf(record)
    const subject = subjectOf(record, image, packages)
    return decision === undefined || subject === undefined
      ? []
      : [{ ...decision, ...subject, vulnerabilities: record.aliases }]
  })
}

/** Within an attestation, a statement without products is about the subject of the attestation (OpenVEX 0.2.0). */
function withProducts(bytes: Uint8Array, digest: string): Uint8Array {
  let root: unknown
  try {
    root = JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return bytes
  }
  if (!isRecord(root) || !Array.isArray(root['statements'])) return bytes
  const lacksProducts = (value: unknown): value is Record<string, unknown> =>
    isRecord(value) && (value['products'] === undefined || value['products'] === null)
  if (!root['statements'].some(lacksProducts)) return bytes
  for (const statement of root['statements'].filter(lacksProducts)) statement['products'] = [digest]
  return Buffer.from(JSON.stringify(root))
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Decision = Pick<ImageStatement, 'state' | 'justification' | 'timeMs'>

function decisionOf({ events }: AdvisoryRecord): Decision | undefined {
  const { type, timeMs } = events.at(-1) ?? {}
  if (type === undefined || timeMs === undefined) return undefined
  switch (type.case) {
    case 'falsePositiveDetermination': {
      const justification = falsePositiveLabel(type.value.type) || type.value.note
      return { state: 'not-affected', justification, timeMs }
    }
    case 'fixed':
      return { state: 'not-affected', justification: type.value.note || 'fixed in this image', timeMs }
    case 'truePositiveDetermination':
      return { state: 'affected', justification: type.value.note, timeMs }
    default:
      return undefined
  }
}

/** Returns undefined if the statement is about something else. */
function subjectOf(
  { product, artifactName, componentName, componentProduct }: AdvisoryRecord,
  image: DescribedImage,
  packages: readonly ImagePackage[],
): Pick<ImageStatement, 'purls'> | undefined {
  const name = product || artifactName
  const component = componentProduct || componentName
  if (isImage(name, image)) return component === '' ? { purls: undefined } : purlsOf(component, packages)
  return component === '' ? purlsOf(name, packages) : undefined
}

function isImage(name: string, { digest, subject }: DescribedImage): boolean {
  const digests = [digest, subject]
  if (digests.includes(name)) return true
  const url = parse(name)
  return (
    url !== undefined &&
    imageTypes.has(url.type) &&
    (!url.version?.startsWith('sha256:') || digests.includes(url.version))
  )
}

function purlsOf(text: string, packages: readonly ImagePackage[]): Pick<ImageStatement, 'purls'> | undefined {
  const url = parse(text)
  if (url === undefined) return undefined
  const { type, namespace, name, version } = url
  const purls = packages
    .filter(
      (found) =>
        found.type === type &&
        found.name === name &&
        (!namespace || found.namespace === namespace) &&
        (!version || found.version === version),
    )
    .map(({ purl }) => purl)
  return purls.length === 0 ? undefined : { purls }
}

function parse(text: string): PackageURL | undefined {
  if (!text.startsWith('pkg:')) return undefined
  try {
    return PackageURL.fromString(text)
  } catch {
    return undefined
  }
}
