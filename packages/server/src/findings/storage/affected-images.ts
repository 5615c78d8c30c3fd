import { rootOf } from '../../api/uid.ts'
import { countImagesUpTo, imagesInScope, SMALL_SCOPE_MAX } from '../../contents/storing/image-scope.ts'
import { EVERY_PACKAGE } from '../../contents/storing/image-statements.ts'
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

type ImageKey = readonly [packageId: number, vulnerability: string, contents: number]

/** The last image of a page. `by-image`: the list is ordered by package, image and vulnerability. */
export type AffectedImageCursor = ImageKey | readonly [...ImageKey, 'by-image']

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

export interface AffectedImagePage {
  readonly images: readonly AffectedImageRow[]
  /** Returns the cursor after an image. */
  readonly cursorAfter: (image: AffectedImageRow) => AffectedImageCursor
}

/**
 * A vulnerability of more packages than this is read image by image in a scope of few images: most of the packages are in none of them. All
 * packages of all images are read for a page, about 0.1 ms for an image on PostgreSQL.
 */
const PACKAGES_BY_FINDING_MAX = 16
const IMAGES_BY_IMAGE_MAX = 500

/** Reads a page of images. The order is that of the first page. */
export async function readAffectedImages(db: Db, query: AffectedImagesQuery): Promise<AffectedImagePage> {
  const { scope, after } = query
  if (after?.[3] === 'by-image') return pageByImage(db, query)
  const [images, packages] = await Promise.all([
    countImagesUpTo(db, scope, SMALL_SCOPE_MAX),
    after === undefined ? countPackages(db, query) : 0,
  ])
  const isSmall = images <= SMALL_SCOPE_MAX
  const hasStatements = await hasStatementsIn(db, scope, isSmall)
  const areFew = images <= IMAGES_BY_IMAGE_MAX && packages > PACKAGES_BY_FINDING_MAX
  if (areFew && !hasStatements) return pageByImage(db, query)
  return { images: await readByFinding(db, query, { isSmall, hasStatements }), cursorAfter: keyOf }
}

async function pageByImage(db: Db, query: AffectedImagesQuery): Promise<AffectedImagePage> {
  return {
    images: await readByImage(db, query),
    cursorAfter: (image) => [...keyOf(image), 'by-image'],
  }
}

function keyOf({ package: id, vulnerability, contents }: AffectedImageRow): ImageKey {
  return [Number(id), vulnerability, Number(contents)]
}

/** The findings `f` of a vulnerability, which several identifiers can name. */
function findingsOf(
  sql: SqlText,
  { scope, vulnerability }: Pick<AffectedImagesQuery, 'scope' | 'vulnerability'>,
): string {
  const root = rootOf(scope)
  return `from vulnerability_ids as v cross join package_findings as f
      where v.root = ${sql.bind(root)} and v.id = ${sql.bind(vulnerability)}
        and f.root = ${sql.bind(root)} and f.vulnerability = v.vulnerability`
}

/** Counts the packages with a vulnerability up to one more than PACKAGES_BY_FINDING_MAX. */
async function countPackages(db: Db, query: AffectedImagesQuery): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n from (select 1 ${findingsOf(sql, query)} limit ${PACKAGES_BY_FINDING_MAX + 1}) as counted`
  const [row] = await runText<{ readonly n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}

/** Reads all packages of the images in a scope, ordered by package, image and vulnerability, without what is stated in images. */
async function readByImage(db: Db, query: AffectedImagesQuery): Promise<readonly AffectedImageRow[]> {
  const sql = sqlText(db.engine)
  return runLongText<AffectedImageRow>(db, byImageText(sql, query), sql)
}

export function byImageText(
  sql: SqlText,
  { scope, vulnerability, states, after, size }: AffectedImagesQuery,
): string {
  const root = rootOf(scope)
  const bind = (value: string | number) => sql.bind(value)
  const stateCondition = () => (states.length === 0 ? '' : `and f.state in (${sql.bindAll(states)})`)
  const ofImage = () =>
    `l.root = ${bind(root)} and l.contents = c.id ${after === undefined ? '' : `and l.package >= ${bind(after[0])}`}`
  const fromCursor = () =>
    after === undefined ? '' : `and (l.package, l.contents) >= (${bind(after[0])}, ${bind(after[2])})`
  // Only the pair of the cursor has images of the page before.
  const afterCursor = () =>
    after === undefined
      ? ''
      : `where not (o.package = ${bind(after[0])} and o.contents = ${bind(after[2])} and f.vulnerability <= ${bind(after[1])})`
  // With `is true`, PostgreSQL makes one hash table of the packages. Without it, it chooses a join for few packages.
  const pairs = () => `select l.package, l.contents, c.repo, c.digest
      from manifest_contents as c ${sql.rules.lookUp('manifest_packages', 'l', ofImage())}
      where ${imagesInScope(sql, scope)}
        and (l.package in (select f.package ${findingsOf(sql, { scope, vulnerability })} ${stateCondition()})) is true
        ${fromCursor()}
      order by l.package, l.contents limit ${bind(size + 1)}`
  const ofPair = () => `f.root = ${bind(root)} and f.package = o.package
      and f.vulnerability in (select v.vulnerability from vulnerability_ids as v where v.root = ${bind(root)} and v.id = ${bind(vulnerability)})
      ${stateCondition()}`
  return `select ${findingColumns}, o.contents, o.repo, o.digest from (${pairs()}) as o
    ${sql.rules.lookUp('package_findings', 'f', ofPair())}
    ${sql.rules.lookUp('packages', 'p', `p.root = ${bind(root)} and p.id = o.package`)}
    ${catalogLookUp(sql, root)}
    ${afterCursor()}
    order by o.package, o.contents, f.vulnerability limit ${bind(size)}`
}

/**
 * Reads images ordered by package, vulnerability and image. Each finding is a range of an index, so a page costs the same for any number of
 * images.
 */
async function readByFinding(
  db: Db,
  query: AffectedImagesQuery,
  options: Pick<ImagesOptions, 'isSmall' | 'hasStatements'>,
): Promise<readonly AffectedImageRow[]> {
  const { after, size } = query
  const images: AffectedImageRow[] = []
  let page = await readFindingsOf(db, query, '>=', after)
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

/** Reads findings in the order of packages, from a finding or after it. */
function readFindingsOf(
  db: Db,
  query: AffectedImagesQuery,
  operator: '>=' | '>',
  start: readonly [packageId: number, vulnerability: string, ...unknown[]] | undefined,
): Promise<FindingRow[]> | FindingRow[] {
  const sql = sqlText(db.engine)
  const root = rootOf(query.scope)
  const text = `select ${findingColumns}
    from (select f.* ${findingsOf(sql, query)}
        ${start === undefined ? '' : `and (f.package, f.vulnerability) ${operator} (${sql.bind(start[0])}, ${sql.bind(start[1])})`}
      order by f.package, f.vulnerability limit ${sql.bind(FINDINGS_PAGE)}) as f
    ${sql.rules.lookUp('packages', 'p', `p.root = ${sql.bind(root)} and p.id = f.package`)}
    ${catalogLookUp(sql, root)}
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
  const bind = (value: string | number) => sql.bind(value)
  const stated = (column: string) =>
    `(select min(s.${column}) from image_statements as s where s.root = ${bind(root)} and s.contents = l.contents
      and s.package in (${EVERY_PACKAGE}, ${bind(Number(finding.package))}) and s.vulnerability in (${sql.bindAll(idsOf(finding))}))`
  const columns = hasStatements
    ? `, ${stated('state')} as state, ${stated('justification')} as justification`
    : ''
  const inScope = () => imagesInScope(sql, scope)
  const ofPackage = () =>
    `l.root = ${bind(root)} and l.package = ${bind(Number(finding.package))} and l.contents > ${bind(afterContents)}`
  const from = isSmall
    ? `manifest_contents as c ${sql.rules.lookUp('manifest_packages', 'l', `${ofPackage()} and l.contents = c.id`)} where ${inScope()}`
    : `manifest_packages as l ${sql.rules.lookUp('manifest_contents', 'c', `${inScope()} and c.id = l.contents`)} where ${ofPackage()}`
  return `select ${at} as at, l.contents, c.repo, c.digest${columns} from ${from}
      ${hasStatements && states.length > 0 ? `and coalesce(${stated('state')}, ${bind(finding.state)}) in (${sql.bindAll(states)})` : ''}
    order by l.contents limit ${bind(size)}`
}

/** Whether documents that are attached to images state anything. `isSmall`: asks for the images of the scope only. */
async function hasStatementsIn(db: Db, scope: string, isSmall: boolean): Promise<boolean> {
  const root = rootOf(scope)
  const find = async (textOf: (sql: SqlText) => string) => {
    const sql = sqlText(db.engine)
    return (await runText(db, `${textOf(sql)} limit 1`, sql)).length > 0
  }
  const hasAny = await find((sql) => `select 1 as n from image_statements where root = ${sql.bind(root)}`)
  if (!hasAny || !isSmall) return hasAny
  return find((sql) => {
    const ofImage = sql.rules.lookUp(
      'image_statements',
      's',
      `s.root = ${sql.bind(root)} and s.contents = c.id`,
    )
    return `select 1 as n from manifest_contents as c ${ofImage} where ${imagesInScope(sql, scope)}`
  })
}
