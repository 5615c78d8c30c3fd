import { rootOf, subtreeRange } from '../../api/uid.ts'
import { EVERY_PACKAGE } from '../../contents/storing/image-statements.ts'
import type { Db } from '../../storage/db.ts'
import { runLongText, runText, sqlText } from '../../storage/sql-text.ts'
import { catalogJoin, type FindingRow, findingColumns } from '../services/finding-messages.ts'
import { idsOf } from '../vulnerability-ids.ts'

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

/** Findings that one statement reads. */
const FINDINGS_PAGE = 200
/** A scope with at most this number of images is read image by image: most images of a common package may be outside of it. */
const SMALL_SCOPE_MAX = 2000

/** Reads images in the order of the cursor. Each finding is a range of an index, so a page costs the same for any number of images. */
export async function readAffectedImages(
  db: Db,
  query: AffectedImagesQuery,
): Promise<readonly AffectedImageRow[]> {
  const { after, size } = query
  const options = {
    isSmall: await isSmallScope(db, query.scope),
    hasStatements: await hasStatementsIn(db, rootOf(query.scope)),
  }
  const images: AffectedImageRow[] = []
  let page = await readFindingsOf(db, query, '>=', after)
  for (;;) {
    for (const finding of page) {
      const isFirst =
        after !== undefined && Number(finding.package) === after[0] && finding.vulnerability === after[1]
      const rest = { afterContents: isFirst ? after[2] : -1, size: size - images.length }
      images.push(...(await readImagesOf(db, query, finding, { ...options, ...rest })))
      if (images.length >= size) return images
    }
    const last = page.at(-1)
    if (last === undefined || page.length < FINDINGS_PAGE) return images
    page = await readFindingsOf(db, query, '>', [Number(last.package), last.vulnerability])
  }
}

/** Reads the findings of a vulnerability in packages, in the order of the cursor, from a finding or after it. */
function readFindingsOf(
  db: Db,
  { scope, vulnerability }: AffectedImagesQuery,
  operator: '>=' | '>',
  start: readonly [packageId: number, vulnerability: string, contents?: number] | undefined,
): Promise<FindingRow[]> | FindingRow[] {
  const root = rootOf(scope)
  const sql = sqlText(db.engine)
  const text = `select ${findingColumns}
    from vulnerability_ids as v cross join package_findings as f cross join packages as p
    ${catalogJoin}
    where v.root = ${sql.bind(root)} and v.id = ${sql.bind(vulnerability)}
      and f.root = ${sql.bind(root)} and f.vulnerability = v.vulnerability
      and p.root = ${sql.bind(root)} and p.id = f.package
      ${start === undefined ? '' : `and (f.package, f.vulnerability) ${operator} (${sql.bind(start[0])}, ${sql.bind(start[1])})`}
    order by f.package, f.vulnerability limit ${sql.bind(FINDINGS_PAGE)}`
  return runText<FindingRow>(db, text, sql)
}

interface ImagesOptions {
  readonly isSmall: boolean
  readonly hasStatements: boolean
  readonly afterContents: number
  readonly size: number
}

async function readImagesOf(
  db: Db,
  { scope, states }: AffectedImagesQuery,
  finding: FindingRow,
  { isSmall, hasStatements, afterContents, size }: ImagesOptions,
): Promise<AffectedImageRow[]> {
  if (!hasStatements && states.length > 0 && !states.includes(finding.state)) return []
  const root = rootOf(scope)
  const range = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const bind = (value: string | number) => sql.bind(value)
  const stated = (column: string) =>
    `(select min(s.${column}) from image_statements as s where s.root = ${bind(root)} and s.contents = l.contents
      and s.package in (${EVERY_PACKAGE}, ${bind(Number(finding.package))}) and s.vulnerability in (${sql.bindAll(idsOf(finding))}))`
  const columns = hasStatements
    ? `, ${stated('state')} as state, ${stated('justification')} as justification`
    : ''
  const [first, second] = ['manifest_contents as c', 'manifest_packages as l'].sort((a) =>
    a.startsWith('manifest_contents') === isSmall ? -1 : 1,
  )
  const text = `select l.contents, c.repo, c.digest${columns} from ${first} cross join ${second}
    where l.root = ${bind(root)} and l.package = ${bind(Number(finding.package))} and l.contents > ${bind(afterContents)}
      and c.root = ${bind(root)} and c.id = l.contents and c.repo >= ${bind(range.from)} and c.repo < ${bind(range.to)}
      ${hasStatements && states.length > 0 ? `and coalesce(${stated('state')}, ${bind(finding.state)}) in (${sql.bindAll(states)})` : ''}
    order by l.contents limit ${bind(size)}`
  const rows = await runLongText<
    Pick<AffectedImageRow, 'contents' | 'repo' | 'digest'> & {
      readonly state?: string | null
      readonly justification?: string | null
    }
  >(db, text, sql)
  return rows.map(({ contents, repo, digest, state, justification }) => ({
    ...finding,
    ...{ contents, repo, digest },
    ...(typeof state === 'string' && { state, justification: justification ?? '' }),
  }))
}

async function isSmallScope(db: Db, scope: string): Promise<boolean> {
  const { from, to } = subtreeRange(scope)
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from (select 1 from manifest_contents where root = ${sql.bind(rootOf(scope))}
    and repo >= ${sql.bind(from)} and repo < ${sql.bind(to)} limit ${SMALL_SCOPE_MAX + 1}) as counted`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0) <= SMALL_SCOPE_MAX
}

async function hasStatementsIn(db: Db, root: string): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from image_statements where root = ${sql.bind(root)} limit 1`
  return (await runText(db, text, sql)).length > 0
}
