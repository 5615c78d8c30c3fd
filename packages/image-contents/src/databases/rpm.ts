import Database from 'better-sqlite3'
import { type FileContents, type FoundPackage, TOO_MANY_PACKAGES } from '../found-package.ts'
import { layerLimits } from '../limits.ts'
import { linesOf } from './control-fields.ts'
import { isBerkeleyDb, readBerkeleyDbBlobs } from './rpm-bdb.ts'
import { readRpmHeader, rpmPackage } from './rpm-header.ts'
import { isNdb, readNdbBlobs } from './rpm-ndb.ts'

/** Reads a database of rpm in any of its formats. */
export function readRpmDatabase(content: Buffer): FileContents {
  if (isSqlite(content)) return readHeaders(sqliteBlobs(content))
  if (isNdb(content)) return readHeaders(readNdbBlobs(content))
  if (isBerkeleyDb(content)) return readHeaders(readBerkeleyDbBlobs(content))
  return { packages: [], problems: ['it is no rpm database in the format of SQLite, ndb or Berkeley DB'] }
}

function readHeaders(blobs: Iterable<Buffer>): FileContents {
  const packages: FoundPackage[] = []
  let damaged = 0
  try {
    for (const blob of blobs) {
      if (packages.length >= layerLimits.packagesMax) return { packages, problems: [TOO_MANY_PACKAGES] }
      try {
        const found = readRpmHeader(blob)
        if (found !== undefined) packages.push(found)
      } catch {
        damaged++
      }
    }
  } catch (error) {
    return { packages, problems: [`the database is damaged: ${(error as Error).message}`] }
  }
  return { packages, problems: damaged === 0 ? [] : [`${damaged} headers are damaged`] }
}

const SQLITE_MAGIC = 'SQLite format 3\0'
/** Versions of the file format for writing and reading: 2 is a write-ahead log, which a database in memory cannot have. */
const FORMAT_VERSIONS_AT = 18
const ROLLBACK_JOURNAL = 1

function isSqlite(content: Buffer): boolean {
  return content.subarray(0, SQLITE_MAGIC.length).equals(Buffer.from(SQLITE_MAGIC))
}

function* sqliteBlobs(content: Buffer): Generator<Buffer> {
  content.fill(ROLLBACK_JOURNAL, FORMAT_VERSIONS_AT, FORMAT_VERSIONS_AT + 2)
  const database = new Database(content, { readonly: true })
  try {
    // The schema is untrusted too: no functions in it, and a table instead of a view, whose query may never end.
    database.pragma('trusted_schema = OFF')
    database.pragma('cell_size_check = ON')
    const table = database
      .prepare("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'Packages'")
      .pluck()
      .get()
    if (typeof table !== 'string' || !/^CREATE TABLE\b(?!.*\b(AS|CHECK)\s*\()/is.test(table))
      throw new Error('it has no table of packages')
    // Pages that are referred to many times would be read that often, for years with a few levels of them.
    const check = database.pragma('quick_check(Packages)', { simple: true })
    if (check !== 'ok') throw new Error(String(check).replaceAll(/\s+/g, ' '))
    for (const blob of database.prepare('SELECT blob FROM Packages').pluck().iterate())
      if (Buffer.isBuffer(blob)) yield blob
  } finally {
    database.close()
  }
}

const MANIFEST_FIELDS = 10

/** Reads `container-manifest-2` of Azure Linux: tab-separated, without an rpm database (rpm --qf in its image tools). */
export function readRpmManifest(content: Buffer): FileContents {
  const packages: FoundPackage[] = []
  let damaged = 0
  for (const line of linesOf(content.toString())) {
    if (line.trim() === '') continue
    if (packages.length >= layerLimits.packagesMax) return { packages, problems: [TOO_MANY_PACKAGES] }
    const fields = line.split('\t', MANIFEST_FIELDS)
    const [name = '', version = '', , buildTime = '', , , , architecture = '', epoch = '', sourceRpm = ''] =
      fields
    if (fields.length < MANIFEST_FIELDS) damaged++
    else
      packages.push(
        rpmPackage({
          name,
          version,
          architecture,
          sourceRpm,
          license: '',
          modularityLabel: '',
          buildTime,
          epoch: /^\d+$/.test(epoch) && epoch !== '0' ? epoch : undefined,
        }),
      )
  }
  return { packages, problems: damaged === 0 ? [] : [`${damaged} lines are damaged`] }
}
