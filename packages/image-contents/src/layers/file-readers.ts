import { readApkInstalled } from '../databases/apk.ts'
import { readCopyright, readDpkgStatus } from '../databases/dpkg.ts'
import { readOsRelease } from '../databases/os-release.ts'
import { readRpmDatabase, readRpmManifest } from '../databases/rpm.ts'
import type { FileContents } from '../found-package.ts'
import { readDepsJson } from '../languages/dotnet.ts'
import { isJavaArchive, readJavaArchive } from '../languages/java.ts'
import { readPackageJson } from '../languages/npm.ts'
import { readComposerInstalled } from '../languages/php.ts'
import { readPythonMetadata } from '../languages/python.ts'
import { readExecutablePackages } from '../languages/read-executable.ts'
import { readGemspec } from '../languages/ruby.ts'
import type { LayerLimits } from '../limits.ts'

/** Which files of an image are read, and how. */

export interface FileReader {
  /** Part of the limits that applies to the size of the file. */
  readonly limit: keyof LayerLimits
  /**
   * `content`: valid during the call only; it may be changed. Throws an Error whose message continues "could not be read, because", or the
   * signal's reason.
   */
  read(content: Buffer, path: string, signal?: AbortSignal): FileContents | Promise<FileContents>
}

/** Of `databases`, the path in an image: links lead to them in some images. Other roots within an image have them too, at the end of a path. */
const databases: readonly (readonly [path: string, reader: FileReader])[] = [
  ['etc/os-release', { limit: 'metadataBytesMax', read: readOsRelease }],
  ['usr/lib/os-release', { limit: 'metadataBytesMax', read: readOsRelease }],
  ...['lib/apk/db/installed', 'usr/lib/apk/db/installed'].map(
    (path) => [path, { limit: 'listBytesMax', read: readApkInstalled }] as const,
  ),
  ['var/lib/dpkg/status', { limit: 'listBytesMax', read: (content) => readDpkgStatus('deb', content) }],
  ...['usr/lib/opkg/status', 'var/lib/opkg/status', 'lib/opkg/status'].map(
    (path) =>
      [path, { limit: 'listBytesMax', read: (content: Buffer) => readDpkgStatus('opkg', content) }] as const,
  ),
  ...['var/lib/rpm', 'usr/lib/sysimage/rpm', 'usr/share/rpm'].flatMap((folder) =>
    ['rpmdb.sqlite', 'Packages.db', 'Packages'].map(
      (name) => [`${folder}/${name}`, { limit: 'databaseBytesMax', read: readRpmDatabase }] as const,
    ),
  ),
  ['var/lib/rpmmanifest/container-manifest-2', { limit: 'listBytesMax', read: readRpmManifest }],
]

/** Databases that an image may have behind a link. */
export const databasePaths: readonly string[] = databases.map(([path]) => path)

const sbom: FileReader = {
  limit: 'embeddedSbomBytesMax',
  read: (content) => ({ packages: [], problems: [], embeddedSbom: Uint8Array.from(content) }),
}
const dpkgPart: FileReader = {
  limit: 'metadataBytesMax',
  read: (content) => readDpkgStatus('deb', content),
}
const copyright: FileReader = { limit: 'metadataBytesMax', read: readCopyright }
const java: FileReader = { limit: 'archiveBytesMax', read: readJavaArchive }

/** By the last part of the path, or its end; the expression is for the whole path. */
const named: readonly (readonly [end: string, path: RegExp, reader: FileReader])[] = [
  ['package.json', /(^|\/)package\.json$/, { limit: 'metadataBytesMax', read: readPackageJson }],
  [
    'METADATA',
    /\.(dist|DIST)-(info|INFO)\/METADATA$/,
    { limit: 'metadataBytesMax', read: readPythonMetadata },
  ],
  [
    'PKG-INFO',
    /\.(egg-info|EGG-INFO)\/PKG-INFO$|(^|\/)EGG-INFO\/PKG-INFO$/,
    { limit: 'metadataBytesMax', read: readPythonMetadata },
  ],
  ['.egg-info', /[^/]\.egg-info$/, { limit: 'metadataBytesMax', read: readPythonMetadata }],
  ['.gemspec', /(^|\/)specifications\/.*\.gemspec$/, { limit: 'metadataBytesMax', read: readGemspec }],
  [
    'installed.json',
    /(^|\/)composer\/installed\.json$/,
    { limit: 'listBytesMax', read: readComposerInstalled },
  ],
  ['.deps.json', /\.deps\.json$/, { limit: 'listBytesMax', read: readDepsJson }],
  ['.spdx.json', /(^|\/)var\/lib\/db\/sbom\/[^/]+\.spdx\.json$/, sbom],
  ['copyright', /^usr\/share\/doc\/[^/]+\/copyright$/, copyright],
]

const dpkgPartPath = /(^|\/)var\/lib\/dpkg\/status\.d\/[^/]+$/
/** Lists of checksums and scripts of a package, beside its part. */
const notAPart = /\.(md5sums|preinst|postinst|prerm|postrm|conffiles|list|triggers|templates|config)$/

/** Returns the reader of a file by its path; undefined for files that only their content can identify. */
export function readerOf(path: string): FileReader | undefined {
  const byEnd = named.find(([end, pattern]) => path.endsWith(end) && pattern.test(path))
  if (byEnd !== undefined) return byEnd[2]
  if (isJavaArchive(path)) return java
  if (path.includes('var/lib/dpkg/status.d/') && dpkgPartPath.test(path) && !notAPart.test(path))
    return dpkgPart
  const name = path.slice(path.lastIndexOf('/') + 1)
  return databasesByName
    .get(name)
    ?.find(([database]) => path === database || path.endsWith(`/${database}`))?.[1]
}

const databasesByName = Map.groupBy(databases, ([path]) => path.slice(path.lastIndexOf('/') + 1))

export const executableReader: FileReader = {
  limit: 'executableBytesMax',
  read: readExecutablePackages,
}

/** Only the distribution of the image itself counts: `etc` is first (os-release(5)). */
export const osReleasePaths = ['etc/os-release', 'usr/lib/os-release']

export function copyrightPath(packageName: string): string {
  return `usr/share/doc/${packageName}/copyright`
}
