import { createHash } from 'node:crypto'
import type { ImagePackage } from '../contents.ts'

/** The image that an SBOM is written for, and the origin of the SBOM. The same values give the same bytes. */
export interface WrittenImage {
  /** Repository with its path, for example `registry.example/acme/app`. */
  readonly repository: string
  /** Of the manifest: `sha256:` with 64 hexadecimal digits. */
  readonly digest: string
  /** When the contents were read. */
  readonly created: Date
  readonly tool: { readonly name: string; readonly version: string }
  /** Start of the ids of SPDX documents: a URL without a trailing slash. */
  readonly namespace: string
}

/** Package URL of the image: the last segment of the repository is the name. */
export function imagePurlParts({ repository, digest }: Pick<WrittenImage, 'repository' | 'digest'>) {
  return {
    type: 'oci',
    name: nameOf(repository).toLowerCase(),
    version: digest,
    qualifiers: { repository_url: repository },
  }
}

export function nameOf(repository: string): string {
  return repository.slice(repository.lastIndexOf('/') + 1)
}

/** Types whose names include the namespace, as scanners match them: `@scope/name`, `github.com/owner/module`. */
const pathNames = new Set(['composer', 'github', 'golang', 'huggingface', 'npm', 'swift'])

/** Returns the name under which the ecosystem knows the package. */
export function ecosystemName({ type, namespace, name }: ImagePackage): string {
  return namespace !== '' && pathNames.has(type) ? `${namespace}/${name}` : name
}

export function creationTime({ created }: Pick<WrittenImage, 'created'>): string {
  return timeText(created.getTime())
}

/** Returns RFC 3339 without fractions, the only form that SPDX allows; '' for no time. */
export function timeText(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Returns a short stable id of texts. */
export function stableId(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16)
}

/** Returns a UUID (version 8) of texts. */
export function stableUuid(...texts: readonly string[]): string {
  const hex = createHash('sha256').update(texts.join('\n')).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** Creates ids that differ also for equal packages. */
export function createIds(): (...texts: readonly string[]) => string {
  const given = new Map<string, number>()
  return (...texts) => {
    const id = stableId(...texts)
    const count = (given.get(id) ?? 0) + 1
    given.set(id, count)
    return count === 1 ? id : `${id}-${count}`
  }
}
