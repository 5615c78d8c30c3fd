import {
  ListPackageImagesResponseSchema,
  PackageImagesService,
} from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import { create } from '@bufbuild/protobuf'
import { PackageURL } from 'packageurl-js'
import { invalidArgument } from '../../api/errors.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { runCachedText, runLongText, runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { imagesInScope, isSmallScope } from '../storing/image-scope.ts'
import { readImageTags } from './image-tags.ts'

/** Finds the images of a group or repo that contain a package. */

export function packageImagesService({ db, pageTokens }: Pick<Store, 'db' | 'pageTokens'>) {
  return implement(PackageImagesService, {
    async listPackageImages({ purl, name, version, pageSize, pageToken }, call) {
      const { scope } = requireScope(call)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      const query = { scope, purl, name, version }
      packageConditions(query)
      const binding = JSON.stringify([...callerBinding(call), query])
      const after = readCursor(pageTokens, pageToken, binding)?.after as PackageImageCursor | undefined
      const size = effectivePageSize(pageSize)
      const { rows, total } = await readPackageImages(db, query, { after, limit: size + 1 })
      const page = rows.slice(0, size)
      const last = rows.length > size ? page.at(-1) : undefined
      const tagsOf = await readImageTags(db, rootOf(scope), page)
      return create(ListPackageImagesResponseSchema, {
        images: page.map((row) => ({
          repoUid: row.repo,
          digest: row.digest,
          tags: tagsOf(row),
          purl: row.purl,
          version: row.version,
        })),
        nextPageToken:
          last === undefined
            ? ''
            : pageTokens.issue(
                { after: [last.repo, last.digest, Number(last.package)], skip: 0, skipped: 0 },
                binding,
              ),
        totalCount: BigInt(total),
      })
    },
  })
}

interface PackageQuery {
  readonly scope: string
  readonly purl: string
  readonly name: string
  readonly version: string
}

interface PackageImageRow {
  readonly repo: string
  readonly digest: string
  readonly package: number
  readonly purl: string
  readonly version: string
}

/** The key of the last row of a page. */
type PackageImageCursor = readonly [repo: string, digest: string, packageId: number]

/** Throws code 3 for an invalid purl, and if no package is named. */
function packageConditions({ purl, name, version }: PackageQuery): (sql: SqlText) => string {
  const columns: Record<string, string> = {}
  for (const [field, value] of Object.entries({ purl, name, version }))
    if (value.length > limits.contentsFieldCharsMax)
      throw invalidArgument(field, `must have at most ${limits.contentsFieldCharsMax} characters`)
  if (purl !== '') {
    const parsed = parsePurl(purl)
    columns['type'] = parsed.type ?? ''
    columns['namespace'] = parsed.namespace ?? ''
    columns['name'] = parsed.name ?? ''
    if (parsed.version) columns['version'] = parsed.version
  }
  if (version !== '') columns['version'] = version
  if (columns['name'] === undefined && name === '')
    throw invalidArgument('purl', 'or name must be set: which package to look for')
  return (sql) => {
    const equal = Object.entries(columns).map(([column, value]) => `p.${column} = ${sql.bind(value)}`)
    // The index of origins is of those that are set.
    if (name !== '')
      equal.push(`(p.name = ${sql.bind(name)} or p.origin_name = ${sql.bind(name)} and p.origin_name <> '')`)
    return equal.join(' and ')
  }
}

function parsePurl(text: string): PackageURL {
  try {
    return PackageURL.fromString(text)
  } catch (error) {
    throw invalidArgument(
      'purl',
      `must be a package URL such as pkg:apk/alpine/musl: ${(error as Error).message}`,
    )
  }
}

interface PackageRowOfQuery {
  readonly id: number
  readonly purl: string
  readonly version: string
}

async function readPackages(db: Db, query: PackageQuery): Promise<readonly PackageRowOfQuery[]> {
  const sql = sqlText(db.engine)
  const text = `select p.id, p.purl, p.version from packages as p
    where p.root = ${sql.bind(rootOf(query.scope))} and ${packageConditions(query)(sql)}`
  const rows = await runText<PackageRowOfQuery>(db, text, sql)
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** Above this number of images with the package, a page is read in the order of the images: it is full after few. */
const FREQUENT_MIN = 10_000

interface PackageImagePage {
  readonly after: PackageImageCursor | undefined
  readonly limit: number
}

/** Reads a page of the images that contain the packages of a query, and counts all of them. */
async function readPackageImages(
  db: Db,
  query: PackageQuery,
  page: PackageImagePage,
): Promise<{ readonly rows: readonly PackageImageRow[]; readonly total: number }> {
  const packages = new Map((await readPackages(db, query)).map((row) => [row.id, row]))
  if (packages.size === 0) return { rows: [], total: 0 }
  const source = { query, ids: [...packages.keys()] }
  const isSmall = await isSmallScope(db, query.scope)
  const total = await countImages(db, source, isSmall)
  if (total === 0) return { rows: [], total }
  const first = isSmall || total >= FREQUENT_MIN ? 'images' : 'pairs'
  const keys = await readImageKeys(db, source, page, first)
  return {
    rows: keys.map((key) => ({ ...key, ...(packages.get(Number(key.package)) as PackageRowOfQuery) })),
    total,
  }
}

interface ImageSource {
  readonly query: PackageQuery
  /** Of its packages. */
  readonly ids: readonly number[]
}

/** Packages that a statement names; more are looked up in it. */
const IDS_MAX = 1000

/** The ids of the packages of a query, for a condition. */
function idsSql(sql: SqlText, { query, ids }: ImageSource): string {
  if (ids.length <= IDS_MAX) return sql.bindAll(ids)
  return `select p.id from packages as p where p.root = ${sql.bind(rootOf(query.scope))} and ${packageConditions(query)(sql)}`
}

/** Which table the images `c` of packages are read from, as pairs `l`. Undefined: the database chooses, because all of them are counted. */
type ReadFirst = 'images' | 'pairs' | undefined

function fromSql(sql: SqlText, source: ImageSource, first: ReadFirst): string {
  const { scope } = source.query
  const root = rootOf(scope)
  const ofPackages = () => `l.root = ${sql.bind(root)} and l.package in (${idsSql(sql, source)})`
  const inScope = () => imagesInScope(sql, scope)
  const isPair = 'c.id = l.contents'
  switch (first) {
    case 'images':
      return `from manifest_contents as c ${sql.rules.lookUp('manifest_packages', 'l', `${ofPackages()} and ${isPair}`)} where ${inScope()}`
    case 'pairs':
      return `from manifest_packages as l ${sql.rules.lookUp('manifest_contents', 'c', `${inScope()} and ${isPair}`)} where ${ofPackages()}`
    case undefined:
      return `from manifest_packages as l cross join manifest_contents as c where ${ofPackages()} and ${isPair} and ${inScope()}`
  }
}

async function countImages(db: Db, source: ImageSource, isSmall: boolean): Promise<number> {
  const sql = sqlText(db.engine)
  const { scope } = source.query
  const root = rootOf(scope)
  // All pairs are of images of the organization.
  const from =
    scope === root && !isSmall
      ? `from manifest_packages where root = ${sql.bind(root)} and package in (${idsSql(sql, source)})`
      : fromSql(sql, source, isSmall ? 'images' : undefined)
  const [row] = await runCachedText<{ readonly n: number }>(db, `select count(*) as n ${from}`, sql, {
    long: true,
  })
  return Number(row?.n ?? 0)
}

function readImageKeys(
  db: Db,
  source: ImageSource,
  { after, limit }: PackageImagePage,
  first: ReadFirst,
): Promise<Pick<PackageImageRow, 'repo' | 'digest' | 'package'>[]> {
  const sql = sqlText(db.engine)
  const from = fromSql(sql, source, first)
  // The first condition is a range of the index.
  const rest =
    after === undefined
      ? ''
      : ` and (c.repo, c.digest) >= (${sql.bindAll(after.slice(0, 2))}) and (c.repo, c.digest, l.package) > (${sql.bindAll(after)})`
  const text = `select c.repo, c.digest, l.package ${from}${rest} order by c.repo, c.digest, l.package limit ${sql.bind(limit)}`
  return runLongText(db, text, sql)
}
