import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { ImageContents } from '@berth/image-contents/contents.ts'
import type { ReportedVulnerability } from '@berth/image-contents/reports/scanner-report.ts'
import type { ImageStatement } from '@berth/image-contents/vex/image-statements.ts'
import { contentsTables } from '../../registry/manifests/contents-rows.ts'
import { insertRows } from '../../storage/bulk-rows.ts'
import type { Db, Reader, Tx } from '../../storage/db.ts'
import type {
  ImageReportRow,
  ManifestContentsRow,
  ManifestDocumentRow,
  PackageRow,
} from '../../storage/schema/tables.ts'
import { countOf } from '../reading/attached-report.ts'
import type { FoundDocument, Reading, SbomMetadata } from '../reading/reading.ts'
import { statementRows } from './image-statements.ts'
import { lockPackages } from './packages.ts'

/** What was read of images, as it is stored: packages by manifest, the whole as a compressed document, and the documents as they were given. */

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Version of the reader, raised when it finds other packages or facts than before: images that an earlier one read are read again. */
export const READER_VERSION = 5

type ImageReading = Extract<Reading, { readonly kind: 'image' }>

/** Compresses what is to be stored of a reading, before the transaction that stores it. */
export async function documentRows(
  { root, id }: Pick<ManifestContentsRow, 'root' | 'id'>,
  { contents, documents, metadata }: ImageReading,
): Promise<ManifestDocumentRow[]> {
  const given = documents.map(async (document: FoundDocument, index) => ({
    root,
    contents: id,
    position: index + 1,
    kind: document.kind,
    format: document.format,
    manifest: document.manifest,
    blob: document.blob,
    path: document.path,
    content: document.content.length === 0 ? new Uint8Array() : await compress(document.content),
  }))
  const none = { format: '', manifest: '', blob: '', path: '' }
  const own = async (kind: string, position: number, value: unknown) => {
    const content = await compress(Buffer.from(JSON.stringify(value)))
    return { root, contents: id, position, kind, ...none, content }
  }
  return [
    await own('packages', 0, contents),
    ...(await Promise.all(given)),
    ...(metadata === undefined ? [] : [await own('metadata', documents.length + 1, metadata)]),
  ]
}

/** Compresses reports of scanners, before the transaction that stores them. Those that do not say when they were written were when they were attached. */
export async function reportRows(
  { kysely }: Db,
  { root, id, repo }: Pick<ManifestContentsRow, 'root' | 'id' | 'repo'>,
  { documents, reports }: ImageReading,
): Promise<ImageReportRow[]> {
  if (reports.length === 0) return []
  const attached = await kysely
    .selectFrom('manifests')
    .select(['digest', 'created_ms'])
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', 'in', [...new Set(documents.map(({ manifest }) => manifest))])
    .execute()
  const attachedMs = new Map(attached.map(({ digest, created_ms }) => [digest, Number(created_ms)]))
  return Promise.all(
    reports.map(async ({ document, counts, findings, createdMs, databaseMs, ...report }) => ({
      root,
      contents: id,
      position: document + 1,
      scanner: report.scanner,
      version: report.version,
      format: report.format,
      created_ms: createdMs || (attachedMs.get(documents[document]?.manifest ?? '') ?? 0),
      database_ms: databaseMs,
      findings: countOf({ counts }),
      critical: counts.CRITICAL,
      high: counts.HIGH,
      medium: counts.MEDIUM,
      low: counts.LOW,
      negligible: counts.NEGLIGIBLE,
      unknown: counts.UNKNOWN,
      stored: report.stored,
      content: await compress(findings),
    })),
  )
}

/** Reads the stored findings of a report. */
export async function readReportedVulnerabilities({
  content,
}: Pick<ImageReportRow, 'content'>): Promise<readonly ReportedVulnerability[]> {
  return JSON.parse((await decompress(content)).toString()) as ReportedVulnerability[]
}

/** What is stored besides packages. */
interface StoredDocuments {
  readonly documents: readonly ManifestDocumentRow[]
  readonly statements: readonly ImageStatement[]
  readonly reports: readonly ImageReportRow[]
}

/** Replaces what is stored about a manifest. */
export async function replaceContents(
  db: Db,
  tx: Tx,
  { root, id, read_ms }: Pick<ManifestContentsRow, 'root' | 'id' | 'read_ms'>,
  packages: ReadonlyMap<string, PackageRow>,
  { documents, statements, reports }: StoredDocuments,
): Promise<void> {
  const ids = await lockPackages(db, tx, packages)
  const isStored = Number(read_ms) > 0
  for (const table of isStored ? contentsTables : [])
    await tx.deleteFrom(table).where('root', '=', root).where('contents', '=', id).execute()
  await insertRows(
    db,
    tx,
    'manifest_packages',
    [...ids.values()].map((found) => ({ root, contents: id, package: found })),
  )
  await insertRows(db, tx, 'image_statements', statementRows({ root, id }, statements, packages, ids))
  await insertRows(db, tx, 'manifest_documents', documents)
  await insertRows(db, tx, 'image_reports', reports)
}

type ContentsKey = Pick<ManifestContentsRow, 'root' | 'id'>

/** Reads what a manifest contains; undefined if it was not read. */
export function readStoredContents(reader: Reader, key: ContentsKey): Promise<ImageContents | undefined> {
  return readOwn<ImageContents>(reader, key, 'packages')
}

/** Reads what the SBOM of a manifest states besides packages; undefined if it was pushed without one. */
export function readStoredMetadata(reader: Reader, key: ContentsKey): Promise<SbomMetadata | undefined> {
  return readOwn<SbomMetadata>(reader, key, 'metadata')
}

async function readOwn<T>(
  reader: Reader,
  { root, id }: ContentsKey,
  kind: 'packages' | 'metadata',
): Promise<T | undefined> {
  const row = await reader
    .selectFrom('manifest_documents')
    .select('content')
    .where('root', '=', root)
    .where('contents', '=', id)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return row && (JSON.parse((await decompress(row.content)).toString()) as T)
}

/** Reads a document of an image that is stored as it was given. */
export async function readStoredDocument(row: ManifestDocumentRow): Promise<Uint8Array> {
  return decompress(row.content)
}
