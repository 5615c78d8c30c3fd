import type { PackageURL } from 'packageurl-js'
import type {
  ContentsProblem,
  Distribution,
  ImageContents,
  ImagePackage,
  PackageOrigin,
} from '../contents.ts'
import { documentLimits } from '../documents/document-limits.ts'
import { DocumentProblem, quote } from '../documents/document-problem.ts'
import { packageTimes } from '../package-times.ts'
import { derivePurl } from './ecosystems.ts'
import {
  distributionOf,
  isImagePurl,
  originOf,
  packageParts,
  parsePurl,
  versionOf,
  withVersion,
} from './package-urls.ts'

/** A package as a document lists it. Missing texts are ''. */
export interface ListedPackage {
  /** Of the element, in the document. */
  readonly id: string
  /** Texts in the place of a package URL, which may be invalid. */
  readonly purls: readonly string[]
  readonly name: string
  readonly version: string
  readonly ecosystem: string
  readonly group: string
  /** Overrides that of the package URL. */
  readonly architecture: string
  /** Overrides that of the package URL. */
  readonly origin: PackageOrigin | undefined
  readonly license: string
  readonly path: string
  readonly layer: string
  /** Whether it counts without a package URL, as an image or a file does not. */
  readonly countsByName: boolean
  readonly built?: Date | undefined
  readonly endOfLife?: Date | undefined
}

/** Collects the packages of one document. */
export interface PackageCollector {
  /** Adds what `read` returns; undefined is nothing. A DocumentProblem of `read` becomes a problem of that element. */
  readonly add: (element: string, read: () => ListedPackage | undefined) => void
  readonly finish: (distribution: Distribution | undefined) => ImageContents
  /** Package URL of a package by the id of its element, after `finish`. */
  readonly purlOf: (id: string) => string | undefined
}

/** Rejects the document, not one package. */
class TooManyInvalid extends DocumentProblem {
  constructor() {
    super(`more than ${documentLimits.sbomInvalidPurlsMax} package URLs are invalid`)
  }
}

export function createPackageCollector(): PackageCollector {
  const listed: { readonly url: PackageURL | undefined; readonly from: ListedPackage }[] = []
  const problems: ContentsProblem[] = []
  const purls = new Map<string, string>()
  let unreported = 0
  let invalidPurls = 0

  const firstUrl = (texts: readonly string[]): PackageURL | undefined => {
    for (const text of texts) {
      const url = parsePurl(text)
      if (url !== undefined) return url
      if (++invalidPurls > documentLimits.sbomInvalidPurlsMax) throw new TooManyInvalid()
    }
    return undefined
  }

  const report = (reason: string) => {
    if (problems.length < documentLimits.problemsMax) problems.push({ path: '', reason })
    else unreported++
  }

  return {
    add: (element, read) => {
      try {
        const from = read()
        if (from === undefined) return
        const url = firstUrl(from.purls)
        const version = isUnknownVersion(from.version) ? '' : from.version
        if (url !== undefined && isImagePurl(url)) return
        if (url === undefined && from.purls.length > 0) report(`${element} has an invalid package URL`)
        // Without a version, an element without a package URL is a group of packages, such as a lock file.
        if (url === undefined && (!from.countsByName || from.name === '' || version === '')) return
        listed.push({ url, from: { ...from, version } })
      } catch (error) {
        if (!(error instanceof DocumentProblem) || error instanceof TooManyInvalid) throw error
        report(`${element} is invalid: ${error.message}`)
      }
    },
    finish: (stated) => {
      const distribution = stated ?? firstDistribution(listed.map(({ url }) => url))
      const packages = new Map<string, ImagePackage>()
      let chars = 0
      for (const { url, from } of listed) {
        const purl = url ?? derivePurl(from, distribution)
        if (purl === undefined) {
          report(`the package ${quote(from.name)} has a name that no package URL can have`)
          continue
        }
        const found = imagePackage(purl, from)
        chars += charsOf(found)
        if (chars > documentLimits.sbomPackagesCharsMax) {
          throw new DocumentProblem(
            `the packages have more than ${documentLimits.sbomPackagesCharsMax} characters together`,
          )
        }
        // Documents list a package again for each of its files or parents.
        if (from.id !== '') purls.set(from.id, found.purl)
        packages.set([found.purl, found.path, found.layer].join('\n'), found)
      }
      if (unreported > 0) problems.push({ path: '', reason: `${unreported} more elements are invalid` })
      return { distribution, packages: [...packages.values()], problems }
    },
    purlOf: (id) => purls.get(id),
  }
}

/** Texts that SPDX and syft have in place of a version. */
function isUnknownVersion(version: string): boolean {
  return ['NOASSERTION', 'NONE', 'UNKNOWN'].includes(version)
}

function firstDistribution(urls: readonly (PackageURL | undefined)[]): Distribution | undefined {
  for (const url of urls) {
    const distribution = url === undefined ? undefined : distributionOf(url)
    if (distribution !== undefined) return distribution
  }
  return undefined
}

function imagePackage(purl: PackageURL, from: ListedPackage): ImagePackage {
  const url = versionOf(purl) === '' && from.version !== '' ? (withVersion(purl, from.version) ?? purl) : purl
  const parts = packageParts(url)
  // The epoch is missing in many package URLs of rpm.
  const hasEpoch = url.type === 'rpm' && from.version.replace(/^\d+:/, '') === url.version
  return {
    ...parts,
    version: hasEpoch ? from.version : parts.version,
    architecture: from.architecture || parts.architecture,
    origin: from.origin ?? originOf(url),
    license: from.license,
    path: from.path,
    layer: from.layer,
    ...packageTimes(from.built?.getTime(), from.endOfLife?.getTime()),
  }
}

function charsOf({ purl, name, version, license, path, layer, origin }: ImagePackage): number {
  const texts = [purl, name, version, license, path, layer, origin?.name, origin?.version]
  return texts.reduce((sum, text = '') => sum + text.length, 0)
}

/** Returns a path without a leading slash or `./`. */
export function imagePath(path: string): string {
  return path.replace(/^(?:\.?\/)+/, '')
}

/** Returns a digest, '' for other text. */
export function layerDigest(text: string): string {
  return /^sha(?:256|512):[0-9a-f]{64,128}$/.test(text) ? text : ''
}
