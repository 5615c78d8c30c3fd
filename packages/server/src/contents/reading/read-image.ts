import { isDistributable } from '@berth/contract/image-media-types.ts'
import type { ArtifactManifest } from '@berth/image-contents/attestations/artifact-manifest.ts'
import {
  attestationManifests,
  classifyArtifact,
  isAboutIndexes,
} from '@berth/image-contents/attestations/classify-artifact.ts'
import type { ContentsProblem, ImageContents, ImagePackage } from '@berth/image-contents/contents.ts'
import { readLayers } from '@berth/image-contents/layers/read-layers.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import type { SbomDocument } from '@berth/image-contents/sbom/sbom-document.ts'
import { type ImageStatement, readImageStatements } from '@berth/image-contents/vex/image-statements.ts'
import { limits } from '../../config/limits.ts'
import {
  type AttachedDocuments,
  type Open,
  readAttachedDocuments,
  type VexDocument,
} from './attached-documents.ts'
import { formatName, isImage, parseManifest, reasonOf } from './manifest-parts.ts'
import { blobStream, type FoundDocument, type ReadImageRequest, type Reading, toMetadata } from './reading.ts'

/**
 * Reads what an image contains: by the SBOMs that are attached to it, else by its layers, with the SBOMs among their files. Problems are
 * part of the result.
 */
export async function readImage(request: ReadImageRequest, open: Open): Promise<Reading> {
  const manifest = parseManifest(request.manifest)
  if (!isImage(manifest))
    return {
      kind: 'none',
      subjects: subjectsOf(manifest),
      isAboutIndexes: classifyArtifact(manifest).some(isAboutIndexes),
    }
  const attached = await readAttachedDocuments(request, open)
  if (attached.sbom !== undefined) return fromSbom(request.digest, attached, attached.sbom)
  return fromLayers(request.digest, manifest, attached, open)
}

function subjectsOf(manifest: ArtifactManifest): string[] {
  const subjects = attestationManifests(manifest).map(({ subject }) => subject)
  return manifest.subject === undefined ? subjects : [manifest.subject.digest, ...subjects]
}

type ImageReading = Extract<Reading, { readonly kind: 'image' }>

function fromSbom(
  digest: string,
  { documents, problems, vex, reports }: AttachedDocuments,
  sbom: NonNullable<AttachedDocuments['sbom']>,
): Reading {
  const { document, format } = sbom
  const contents = bounded({ ...document.contents, problems: [...problems, ...document.contents.problems] })
  return {
    kind: 'image',
    source: 'sbom',
    format,
    metadata: toMetadata(document, contents.packages),
    ...withStatements(digest, contents, vex),
    documents,
    reports,
  }
}

/** Adds what VEX documents state about packages of the image. A document that cannot be read is a problem of the image. */
function withStatements(
  digest: string,
  contents: ImageContents,
  vex: readonly VexDocument[],
): Pick<ImageReading, 'contents' | 'statements'> {
  const statements: ImageStatement[] = []
  const problems: ContentsProblem[] = []
  for (const { blob, bytes, subject } of vex) {
    try {
      statements.push(...readImageStatements(bytes, { digest, subject }, contents.packages))
    } catch (error) {
      problems.push({ path: '', reason: `the attached document ${blob} is invalid: ${reasonOf(error)}` })
    }
  }
  const { contentsStatementsMax: max } = limits
  if (statements.length > max)
    problems.push({
      path: '',
      reason: `${statements.length} statements about its vulnerabilities are attached, at most ${max} are stored (contentsStatementsMax)`,
    })
  return {
    contents: {
      ...contents,
      problems: boundProblems([...problems, ...contents.problems]),
    },
    // The latest statement applies.
    statements: statements.toSorted((a, b) => a.timeMs - b.timeMs).slice(-max),
  }
}

async function fromLayers(
  digest: string,
  { layers = [] }: ArtifactManifest,
  attached: AttachedDocuments,
  open: Open,
): Promise<Reading> {
  const { embeddedSboms, ...read } = await readLayers(
    layers
      .filter(isDistributable)
      .map(({ digest, mediaType }) => ({ digest, mediaType, open: () => open(blobStream(digest)) })),
    { signal: AbortSignal.timeout(limits.contentsReadMsMax) },
  )
  const packages = [...read.packages]
  const omitted = layers
    .filter((layer) => !isDistributable(layer))
    .map(({ digest }) => ({
      path: '',
      reason: `the layer ${digest} is not distributable: it is not stored here`,
    }))
  const problems: ContentsProblem[] = [...attached.problems, ...omitted, ...read.problems]
  const files: FoundDocument[] = []
  const known = new Set(packages.map(packageKey))
  let { distribution } = read
  let first: SbomDocument | undefined
  let bytesLeft = limits.contentsFilesBytesMax
  for (const { path, layer, bytes } of embeddedSboms) {
    try {
      const document = readSbom(bytes)
      const { format, version, contents } = document
      distribution ??= contents.distribution
      problems.push(...contents.problems.map(({ reason }) => ({ path, reason })))
      for (const found of contents.packages) {
        if (known.has(packageKey(found))) continue
        known.add(packageKey(found))
        packages.push({ ...found, path: found.path || path, layer: found.layer || layer })
      }
      const file = { format: formatName(format, version), manifest: '', blob: '', path, content: bytes }
      if (bytes.length <= bytesLeft && files.length < limits.contentsDocumentsMax) {
        files.push({ kind: 'sbom', ...file })
        first ??= document
        bytesLeft -= bytes.length
      }
    } catch (error) {
      problems.push({ path, reason: reasonOf(error) })
    }
  }
  const contents = bounded({ distribution, packages, problems })
  return {
    kind: 'image',
    source: files.length > 0 ? 'sbom-file' : 'layers',
    format: files[0]?.format ?? '',
    metadata: first && toMetadata(first, contents.packages),
    ...withStatements(digest, contents, attached.vex),
    documents: [...attached.documents, ...files],
    reports: attached.reports,
  }
}

/** Databases and SBOMs of one image write the same package with different qualifiers. */
function packageKey({ type, name, version }: ImagePackage): string {
  return JSON.stringify([type, name, version])
}

/** Returns the first problems, and that there are more. */
function boundProblems(problems: readonly ContentsProblem[]): readonly ContentsProblem[] {
  const { contentsProblemsMax: max } = limits
  if (problems.length <= max) return problems
  const listed = problems.slice(0, max - 1)
  const left = problems.length - listed.length
  return [
    ...listed,
    { path: '', reason: `at least ${left} further problems are not listed (contentsProblemsMax)` },
  ]
}

/** Returns the contents within the limits of what is stored; what is left out is a problem. */
function bounded({ distribution, packages, problems }: ImageContents): ImageContents {
  const { contentsPackagesMax, contentsFieldCharsMax } = limits
  const fits = (found: ImagePackage) =>
    [found.purl, found.name, found.namespace, found.version, found.architecture, found.type].every(
      (text) => text.length <= contentsFieldCharsMax,
    )
  const fitting = packages.filter(fits)
  const omitted: ContentsProblem[] = []
  if (fitting.length < packages.length)
    omitted.push({
      path: '',
      reason: `${packages.length - fitting.length} packages have names or versions of more than ${contentsFieldCharsMax} characters (contentsFieldCharsMax)`,
    })
  if (fitting.length > contentsPackagesMax)
    omitted.push({
      path: '',
      reason: `it has ${fitting.length} packages, at most ${contentsPackagesMax} are stored (contentsPackagesMax)`,
    })
  return {
    distribution,
    packages: fitting.slice(0, contentsPackagesMax).map((found) => ({
      ...found,
      license: found.license.slice(0, contentsFieldCharsMax),
    })),
    problems: [...omitted, ...problems],
  }
}
