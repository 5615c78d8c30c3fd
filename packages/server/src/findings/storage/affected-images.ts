import { rootOf, subtreeRange } from '../../api/uid.ts'
import { EVERY_PACKAGE } from '../../contents/storing/image-statements.ts'
import { isSmallScope } from '../../contents/storing/small-scope.ts'
import type { Db } from '../../storage/db.ts'
import { runLongText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { catalogLookUp, type FindingRow, findingColumns } from '../services/finding-messages.ts'
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
/** Findings whose images one statement reads: most often those of the first ones fill the page. */
const FINDINGS_WITH_IMAGES = { first: 1, growth: 4, max: 64 }

/** Reads images in the order of the cursor. Each finding is a range of an index, so a page costs the same for any number of images. */
export async function readAffectedImages(
  db: Db,
  query: AffectedImagesQuery,
): Promise<readonly AffectedImageRow[]> {
  const { after, size } = query
  const [isSmall, hasStatements, found] = await Promise.all([
    isSmallScope(db, query.scope),
    hasStatementsIn(db, rootOf(query.scope)),
    readFindingsOf(db, query, '>=', after),
  ])
  const options = { isSmall, hasStatements }
  const images: AffectedImageRow[] = []
  let page = found
  const { growth, max } = FINDINGS_WITH_IMAGES
  let count = FINDINGS_WITH_IMAGES.first
  for (;;) {
    for (let at = 0; at < page.length; at += count, count = Math.min(count * growth, max)) {
      const ranges = page.slice(at, at + count).map((finding) => {
        const isFirst =
          after !== undefined && Number(finding.package) === after[0] && finding.vulnerability === after[1]
        return { finding, afterContents: isFirst ? after[2] : -1 }
      })
      images.push(...(await readImagesOf(db, query, ranges, { ...options, size: size - images.length })))
      if (images.length >= size) return images.slice(0, size)
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
    from (select f.* from vulnerability_ids as v cross join package_findings as f
      where v.root = ${sql.bind(root)} and v.id = ${sql.bind(vulnerability)}
        and f.root = ${sql.bind(root)} and f.vulnerability = v.vulnerability
        ${start === undefined ? '' : `and (f.package, f.vulnerability) ${operator} (${sql.bind(start[0])}, ${sql.bind(start[1])})`}
      order by f.package, f.vulnerability limit ${sql.bind(FINDINGS_PAGE)}) as f
    ${sql.rules.lookUp('packages', 'p', `p.root = ${sql.bind(root)} and p.id = f.package`)}
    ${catalogLookUp(sql)}
    order by f.package, f.vulnerability`
  return runText<FindingRow>(db, text, sql)
}

interface ImagesOptions {
  readonly isSmall: boolean
  readonly hasStatements: boolean
  readonly size: number
}

/** The images of a finding after one. */
interface ImageRange {
  readonly finding: FindingRow
  readonly afterContents: number
}

type ImageRow = Pick<AffectedImageRow, 'contents' | 'repo' | 'digest'> & {
  readonly at: number
  readonly state?: string | null
  readonly justification?: string | null
}

/** Reads the images of some findings in one statement, at most `size` of each, in the order of the cursor. */
async function readImagesOf(
  db: Db,
  query: AffectedImagesQuery,
  ranges: readonly ImageRange[],
  options: ImagesOptions,
): Promise<AffectedImageRow[]> {
  const { states } = query
  const { hasStatements } = options
  const wanted = ranges.filter(
    ({ finding }) => hasStatements || states.length === 0 || states.includes(finding.state),
  )
  if (wanted.length === 0) return []
  const sql = sqlText(db.engine)
  const parts = wanted.map(
    (range, at) => `select * from (${imagesText(sql, query, range, at, options)}) as part${at}`,
  )
  const rows = await runLongText<ImageRow>(db, parts.join(' union all '), sql)
  return rows
    .map((row) => ({ ...row, at: Number(row.at), contents: Number(row.contents) }))
    .sort((a, b) => a.at - b.at || a.contents - b.contents)
    .map(({ at, contents, repo, digest, state, justification }) => ({
      ...(wanted[at] as ImageRange).finding,
      ...{ contents, repo, digest },
      ...(typeof state === 'string' && { state, justification: justification ?? '' }),
    }))
}

function imagesText(
  sql: SqlText,
  { scope, states }: AffectedImagesQuery,
  { finding, afterContents }: ImageRange,
  at: number,
  { isSmall, hasStatements, size }: ImagesOptions,
): string {
  const root = rootOf(scope)
  const range = subtreeRange(scope)
  const bind = (value: string | number) => sql.bind(value)
  const stated = (column: string) =>
    `(select min(s.${column}) from image_statements as s where s.root = ${bind(root)} and s.contents = l.contents
      and s.package in (${EVERY_PACKAGE}, ${bind(Number(finding.package))}) and s.vulnerability in (${sql.bindAll(idsOf(finding))}))`
  const columns = hasStatements
    ? `, ${stated('state')} as state, ${stated('justification')} as justification`
    : ''
  const inScope = () =>
    `c.root = ${bind(root)} and c.repo >= ${bind(range.from)} and c.repo < ${bind(range.to)}`
  const ofPackage = () =>
    `l.root = ${bind(root)} and l.package = ${bind(Number(finding.package))} and l.contents > ${bind(afterContents)}`
  const from = isSmall
    ? `manifest_contents as c ${sql.rules.lookUp('manifest_packages', 'l', `${ofPackage()} and l.contents = c.id`)} where ${inScope()}`
    : `manifest_packages as l ${sql.rules.lookUp('manifest_contents', 'c', `${inScope()} and c.id = l.contents`)} where ${ofPackage()}`
  return `select ${at} as at, l.contents, c.repo, c.digest${columns} from ${from}
      ${hasStatements && states.length > 0 ? `and coalesce(${stated('state')}, ${bind(finding.state)}) in (${sql.bindAll(states)})` : ''}
    order by l.contents limit ${bind(size)}`
}

async function hasStatementsIn(db: Db, root: string): Promise<boolean> {
  const sql = sqlText(db.engine)
  const text = `select 1 as n from image_statements where root = ${sql.bind(root)} limit 1`
  return (await runText(db, text, sql)).length > 0
}
