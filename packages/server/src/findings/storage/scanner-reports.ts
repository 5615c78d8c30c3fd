import type { Db } from '../../storage/db.ts'
import type { ImageReportRow, ManifestContentsRow } from '../../storage/schema/tables.ts'

/** Reads the reports of scanners that are attached to images. */

type Image = Pick<ManifestContentsRow, 'root' | 'id'>

/** A report without its findings. */
export type ReportSummaryRow = Omit<ImageReportRow, 'content'> & { readonly manifest: string }

const summaryColumns = [
  ...(['r.root', 'r.contents', 'r.position', 'r.scanner', 'r.version', 'r.format'] as const),
  ...(['r.created_ms', 'r.database_ms', 'r.findings', 'r.stored'] as const),
  ...(['r.critical', 'r.high', 'r.medium', 'r.low', 'r.negligible', 'r.unknown'] as const),
  'd.manifest',
] as const

function reportsOf({ kysely }: Db, { root, id }: Image) {
  return kysely
    .selectFrom('image_reports as r')
    .innerJoin('manifest_documents as d', (join) =>
      join
        .onRef('d.root', '=', 'r.root')
        .onRef('d.contents', '=', 'r.contents')
        .onRef('d.position', '=', 'r.position'),
    )
    .where('r.root', '=', root)
    .where('r.contents', '=', id)
    .orderBy('r.created_ms', 'desc')
    .orderBy('r.position')
}

/** Returns the reports of an image, the latest first. */
export async function readReportSummaries(db: Db, image: Image): Promise<readonly ReportSummaryRow[]> {
  return reportsOf(db, image).select(summaryColumns).execute()
}

/** Returns the reports of an image with their findings, the latest first. */
export async function readReports(
  db: Db,
  image: Image,
): Promise<readonly (ReportSummaryRow & Pick<ImageReportRow, 'content'>)[]> {
  return reportsOf(db, image)
    .select([...summaryColumns, 'r.content'])
    .execute()
}

/** Returns the latest report of a scanner; undefined if there is none. */
export async function readLatestReport(
  db: Db,
  image: Image,
  scanner: string,
): Promise<(ReportSummaryRow & Pick<ImageReportRow, 'content'>) | undefined> {
  return reportsOf(db, image)
    .select([...summaryColumns, 'r.content'])
    .where('r.scanner', '=', scanner)
    .limit(1)
    .executeTakeFirst()
}
