import { rootOf, subtreeRange } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import { type FindingRow, findingColumns } from '../services/finding-messages.ts'

/** Finds the images with a vulnerability: by its packages, then by the images that contain them. */

export interface AffectedImageRow extends FindingRow {
  readonly contents: number
  readonly repo: string
  readonly digest: string
}

/** The last image of a page. */
export type AffectedImageCursor = readonly [packageId: number, vulnerability: string, contents: number]

export interface AffectedImagesQuery {
  /** A group or repo. */
  readonly scope: string
  /** ID or alias. */
  readonly vulnerability: string
  readonly states: readonly string[]
  readonly after: AffectedImageCursor | undefined
  readonly size: number
}

export function readAffectedImages(
  db: Db,
  query: AffectedImagesQuery,
): Promise<AffectedImageRow[]> | AffectedImageRow[] {
  const { scope, vulnerability, states, after, size } = query
  const root = rootOf(scope)
  const range = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const bind = (value: string | number) => sql.bind(value)
  const text = `select ${findingColumns}, l.contents, c.repo, c.digest
    from vulnerability_ids as v cross join package_findings as f cross join manifest_packages as l
      cross join manifest_contents as c cross join packages as p
    where v.root = ${bind(root)} and v.id = ${bind(vulnerability)}
      and f.root = ${bind(root)} and f.vulnerability = v.vulnerability
      ${states.length === 0 ? '' : `and f.state in (${sql.bindAll(states)})`}
      and l.root = ${bind(root)} and l.package = f.package
      and c.root = ${bind(root)} and c.id = l.contents and c.repo >= ${bind(range.from)} and c.repo < ${bind(range.to)}
      and p.root = ${bind(root)} and p.id = f.package
      ${after === undefined ? '' : `and (f.package, f.vulnerability, l.contents) > (${bind(after[0])}, ${bind(after[1])}, ${bind(after[2])})`}
    order by f.package, f.vulnerability, l.contents limit ${bind(size)}`
  return runText<AffectedImageRow>(db, text, sql)
}
