import type { ImageContents, ImagePackage } from '@berth/image-contents/contents.ts'
import { documentOf } from '../advisories/documents.ts'
import { mix, ORGANIZATION } from '../dataset.ts'

/**
 * Images of a large organization: each has a base and some sets of packages, so many images share most of their packages. All packages
 * are of Wolfi, as the advisories of the benchmark. The same images at every generation.
 */

export interface ImageModel {
  readonly images: number
  /** Different packages, in their versions. */
  readonly packages: number
}

const BASES = 40
/** With the packages of its sets, an image has 200. */
const BASE_PACKAGES = 60
const SETS_PER_IMAGE = 7
const SET_PACKAGES = 20
/** Images that contain the same packages, such as one image in many repos. */
const IMAGES_PER_CONTENTS = 20
const IMAGES_PER_REPO = 100
const REPOS_PER_GROUP = 50

const distribution = { id: 'wolfi', versionId: '20230201', name: 'Wolfi' }

/** One package version for five images, as many as the largest organizations have. */
export function imageModelOf(images: number): ImageModel {
  return { images, packages: Math.max(IMAGES_PER_REPO * 10, images / 5) }
}

/** Number of different contents. */
export function contentsOf({ images }: ImageModel): number {
  return Math.ceil(images / IMAGES_PER_CONTENTS)
}

/** Which contents an image has. Images of one repo have different ones. */
export function contentsOfImage(model: ImageModel, image: number): number {
  return image % contentsOf(model)
}

/** Returns the numbers of the packages of some contents. Half of all images have base 0. */
export function packagesOfContents(model: ImageModel, contents: number): number[] {
  const base = contents % 2 === 0 ? 0 : 1 + (mix(contents) % (basesOf(model) - 1))
  const sets = Math.floor((model.packages - basesOf(model) * BASE_PACKAGES) / SET_PACKAGES)
  const chosen = new Set<number>()
  // Few sets are in very many images.
  for (let at = 0; chosen.size < SETS_PER_IMAGE; at++)
    chosen.add(Math.floor(sets * (mix(mix(contents) ^ Math.imul(at + 1, 0x9e3779b1)) / 2 ** 32) ** 2))
  const range = (start: number, length: number) => Array.from({ length }, (_, at) => start + at)
  return [
    ...range(base * BASE_PACKAGES, BASE_PACKAGES),
    ...[...chosen].flatMap((set) => range(basesOf(model) * BASE_PACKAGES + set * SET_PACKAGES, SET_PACKAGES)),
  ]
}

/** Of a small model, fewer packages are in bases. */
function basesOf({ packages }: ImageModel): number {
  return Math.min(BASES, Math.max(2, Math.floor(packages / 2 / BASE_PACKAGES)))
}

const VERSIONS_PER_NAME = 4

/** Of five packages two are built from the package before them. */
export function packageAt({ packages }: ImageModel, number: number): ImagePackage {
  const names = Math.ceil(packages / VERSIONS_PER_NAME)
  const name = number % names
  const source = documentOf(name - (name % 5 === 4 ? 2 : name % 5 === 3 ? 1 : 0)).package
  const shown = name % 5 === 3 ? `${source}-dev` : name % 5 === 4 ? `${source}-doc` : source
  // Most advisories are fixed before this version.
  const version = `2.${30 + 2 * Math.floor(number / names)}.${mix(number) % 20}-r${mix(number) % 4}`
  return {
    purl: `pkg:apk/wolfi/${shown}@${version}?arch=x86_64&distro=wolfi-20230201`,
    type: 'apk',
    namespace: 'wolfi',
    name: shown,
    version,
    architecture: 'x86_64',
    license: 'Apache-2.0',
    origin: shown === source ? undefined : { name: source, version },
    path: 'lib/apk/db/installed',
    layer: '',
  }
}

/** What the reader of an image returns. */
export function imageContents(model: ImageModel, contents: number): ImageContents {
  return {
    packages: packagesOfContents(model, contents).map((number) => packageAt(model, number)),
    distribution,
    problems: [],
  }
}

export function repoOfImage(image: number): string {
  const repo = Math.floor(image / IMAGES_PER_REPO)
  return `${groupOfRepo(repo)}/${segment(0x20000000 + repo)}`
}

export function reposOf({ images }: ImageModel): number {
  return Math.ceil(images / IMAGES_PER_REPO)
}

export function groupOfRepo(repo: number): string {
  return `${ORGANIZATION}/${segment(0x10000000 + Math.floor(repo / REPOS_PER_GROUP))}`
}

/** 16 hex digits in no order. */
function segment(index: number): string {
  const half = (value: number) => value.toString(16).padStart(8, '0')
  return half(mix(index)) + half(mix(index ^ 0x5bd1e995))
}

/** Below 2^48, different for different numbers. */
export function shortId(number: number): number {
  return mix(number) * 2 ** 16 + (number & 0xffff)
}

export function groupsOf(model: ImageModel): string[] {
  return [...new Set(Array.from({ length: reposOf(model) }, (_, repo) => groupOfRepo(repo)))]
}
