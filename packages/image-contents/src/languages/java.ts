import { readZipEntries } from '@berth/advisory-formats/archives/read-zip.ts'
import {
  ArchiveRejected,
  createUnpackBudget,
  type UnpackBudget,
} from '@berth/advisory-formats/archives/unpack-budget.ts'
import { linesOf } from '../databases/control-fields.ts'
import type { FileContents, FoundPackage } from '../found-package.ts'
import { layerLimits } from '../limits.ts'

/** Java archives: `pom.properties` of Maven, the manifest, and the archives within an archive. */

const archiveName = /\.(jar|war|ear|par|sar|nar|hpi|jpi|kar|lpkg|rar)$/i

export function isJavaArchive(path: string): boolean {
  return archiveName.test(path)
}

interface Search {
  readonly budget: UnpackBudget
  readonly packages: FoundPackage[]
  readonly problems: string[]
  archives: number
}

const COMPRESSION_RATIO_MAX = 1000

export async function readJavaArchive(
  content: Buffer,
  path: string,
  signal?: AbortSignal,
): Promise<FileContents> {
  const budget = createUnpackBudget(
    content.length,
    {
      archiveEntriesMax: layerLimits.archiveEntriesMax,
      archiveBytesMax: layerLimits.archiveUnpackedBytesMax,
      archiveRatioMax: COMPRESSION_RATIO_MAX,
      archiveNestingMax: layerLimits.archiveDepthMax,
      advisoryDocumentBytesMax: layerLimits.listBytesMax,
    },
    signal,
  )
  const search: Search = { budget, packages: [], problems: [], archives: 0 }
  await readArchive(content, path, 0, search)
  return search
}

async function readArchive(content: Buffer, path: string, depth: number, search: Search): Promise<void> {
  const { budget, packages, problems } = search
  const { nestedArchivesMax, archiveDepthMax, archiveBytesMax, metadataBytesMax } = layerLimits
  let manifest: ReadonlyMap<string, string> = new Map()
  const artifacts: Artifact[] = []
  let folders: readonly string[] | undefined
  try {
    for await (const entry of readZipEntries(content, budget)) {
      budget.addEntry()
      const { name } = entry
      if (name.endsWith('.class') && !name.startsWith('META-INF/'))
        folders = commonFolders(folders, name.split('/').slice(0, -1))
      if (name === 'META-INF/MANIFEST.MF') manifest = readManifest(await wholeOf(entry, metadataBytesMax))
      else if (/^META-INF\/maven\/[^/]+\/[^/]+\/pom\.properties$/.test(name)) {
        const artifact = readPomProperties(await wholeOf(entry, metadataBytesMax))
        if (artifact !== undefined) artifacts.push(artifact)
      } else if (isJavaArchive(name) && entry.kind === 'file') {
        if (++search.archives > nestedArchivesMax)
          throw new ArchiveRejected(`has more than ${nestedArchivesMax} archives in it`)
        if (depth >= archiveDepthMax)
          problems.push(`an archive in it is nested more than ${archiveDepthMax} deep`)
        else await readArchive(await wholeOf(entry, archiveBytesMax), name, depth + 1, search)
      }
    }
  } catch (error) {
    budget.throwIfStopped()
    if (error instanceof ArchiveRejected && depth > 0) throw error
    problems.push(
      error instanceof ArchiveRejected
        ? `it ${error.message}`
        : `${depth === 0 ? 'it' : 'an archive in it'} is damaged: ${(error as Error).message}`,
    )
  }
  const isListed = artifacts.some(({ artifactId }) => isNamedAfter(path, artifactId))
  const own = isListed ? undefined : ownPackage(path, manifest, folders)
  // A file of Maven with another name and the same version: the archive was renamed. Others are of what is copied into the archive.
  const isRenamed = artifacts.length === 1 && artifacts[0]?.version === own?.version
  if (own !== undefined && !isRenamed) packages.push(own)
  for (const { groupId, artifactId, version } of artifacts)
    packages.push({
      type: 'maven',
      namespace: groupId,
      name: artifactId,
      version,
      license: manifest.get('bundle-license'),
    })
}

interface Entry {
  readonly bytes: number
  read(): AsyncIterable<Uint8Array>
}

async function wholeOf(entry: Entry, bytesMax: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of entry.read()) {
    bytes += part.length
    if (bytes > bytesMax) throw new ArchiveRejected(`has a file with more than ${bytesMax} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** The main attributes (JAR File Specification): names in lower case; a line that starts with a space continues the one before it. */
function readManifest(content: Buffer): Map<string, string> {
  const [main = ''] = content
    .toString()
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll('\n ', '')
    .trimStart()
    .split(/\n\n/, 1)
  return new Map(
    [...linesOf(main)].map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, Math.max(0, colon)).toLowerCase(), line.slice(colon + 1).trim()] as const
    }),
  )
}

interface Artifact {
  readonly groupId: string
  readonly artifactId: string
  readonly version: string
}

function readPomProperties(content: Buffer): Artifact | undefined {
  const values = new Map(
    [...linesOf(content.toString())].map((line) => {
      const [, name = '', value = ''] = /^\s*([\w.]+)\s*[=:]\s*(.*?)\s*$/.exec(line) ?? []
      return [name, value] as const
    }),
  )
  const [groupId, artifactId, version] = [
    values.get('groupId'),
    values.get('artifactId'),
    values.get('version'),
  ]
  return groupId === undefined || artifactId === undefined || version === undefined
    ? undefined
    : { groupId, artifactId, version }
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(archiveName, '')
}

function isNamedAfter(path: string, artifactId: string): boolean {
  const base = baseName(path)
  return (
    base === artifactId || (base.startsWith(artifactId) && /^[-_.]?v?\d/.test(base.slice(artifactId.length)))
  )
}

/** The package of an archive without files of Maven, from its name and manifest; undefined if neither has a version. */
function ownPackage(
  path: string,
  manifest: ReadonlyMap<string, string>,
  folders: readonly string[] = [],
): FoundPackage | undefined {
  const base = baseName(path)
  const [, named, namedVersion] = /^(.+?)[-_](v?\d[\w.+~-]*)$/.exec(base) ?? []
  const version =
    namedVersion ??
    manifest.get('implementation-version') ??
    manifest.get('bundle-version') ??
    manifest.get('specification-version') ??
    ''
  const symbolicName = manifest.get('bundle-symbolicname')?.split(';', 1)[0]?.trim()
  const name = named ?? base
  if (version === '' || name === '') return undefined
  return {
    type: 'maven',
    namespace: groupOf(name, symbolicName, manifest, folders),
    name,
    version,
    license: manifest.get('bundle-license'),
  }
}

/** Projects whose archives have no files of Maven, and groups that neither their manifests nor their classes show. */
const knownGroups: readonly (readonly [name: RegExp, group: string])[] = [
  [
    /^spring-(boot|security|data|cloud|batch|integration|session|ws|hateoas|kafka|amqp|ldap|plugin|retry|graphql)\b/,
    'org.springframework.$1',
  ],
  [/^spring-/, 'org.springframework'],
  [/^tomcat-embed-/, 'org.apache.tomcat.embed'],
  [/^tomcat-/, 'org.apache.tomcat'],
  [/^xercesImpl$/, 'xerces'],
  [
    /^(commons-(?:beanutils|cli|codec|collections|configuration|dbcp|digester|fileupload|httpclient|io|jxpath|lang|logging|net|pool|validator))$/,
    '$1',
  ],
]

const dottedName = /^[\w-]+(\.[\w-]+)+$/

/**
 * Guesses the group: the vendor, the name of the OSGi bundle, or the first folders of all classes. Old artifacts have the same group and
 * name, which is the last guess.
 */
function groupOf(
  name: string,
  symbolicName: string | undefined,
  manifest: ReadonlyMap<string, string>,
  folders: readonly string[],
): string {
  for (const [pattern, group] of knownGroups) {
    const known = pattern.exec(name)
    if (known !== null) return group.replace('$1', known[1] ?? '')
  }
  const vendorId = manifest.get('implementation-vendor-id') ?? ''
  if (dottedName.test(vendorId)) return vendorId
  if (symbolicName?.endsWith(`.${name}`)) return symbolicName.slice(0, -name.length - 1)
  if (symbolicName !== undefined && dottedName.test(symbolicName)) {
    const isOfClasses = `${folders.join('.')}.`.startsWith(`${symbolicName}.`)
    if (isOfClasses || symbolicName.split('.').length === 2) return symbolicName
  }
  // Apache is a vendor of many groups.
  const isApache = folders[0] === 'org' && folders[1] === 'apache'
  if (folders.length >= 2) return folders.slice(0, isApache ? 3 : 2).join('.')
  return symbolicName !== undefined && dottedName.test(symbolicName) ? symbolicName : name
}

function commonFolders(before: readonly string[] | undefined, folders: readonly string[]): readonly string[] {
  if (before === undefined) return folders
  const different = before.findIndex((folder, at) => folder !== folders[at])
  return different < 0 ? before : before.slice(0, different)
}
