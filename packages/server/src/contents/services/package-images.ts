import {
  ListPackageImagesResponseSchema,
  PackageImagesService,
} from '@berth/contract/gen/berth/registry/v1/contents_pb.js'
import { create } from '@bufbuild/protobuf'
import { PackageURL } from 'packageurl-js'
import { invalidArgument } from '../../api/errors.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { rootOf, subtreeRange } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import type { Db } from '../../storage/db.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { runLongText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
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
      const rows = await readPackageImages(db, query, { after, limit: size + 1 })
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
        totalCount: BigInt(await countPackageImages(db, query)),
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
    if (name !== '') equal.push(`(p.name = ${sql.bind(name)} or p.origin_name = ${sql.bind(name)})`)
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

/** SQLite must start with the packages: it would read all images of the scope first. */
const FROM = `from packages p cross join manifest_packages l cross join manifest_contents c`

function whereText(sql: SqlText, query: PackageQuery): string {
  const { from, to } = subtreeRange(query.scope)
  const root = rootOf(query.scope)
  return `p.root = ${sql.bind(root)} and ${packageConditions(query)(sql)}
    and l.root = ${sql.bind(root)} and l.package = p.id and c.root = ${sql.bind(root)} and c.id = l.contents
    and c.repo >= ${sql.bind(from)} and c.repo < ${sql.bind(to)}`
}

async function readPackageImages(
  db: Db,
  query: PackageQuery,
  { after, limit }: { readonly after: PackageImageCursor | undefined; readonly limit: number },
): Promise<PackageImageRow[]> {
  const sql = sqlText(db.engine)
  const where = whereText(sql, query)
  const rest = after === undefined ? '' : ` and (c.repo, c.digest, l.package) > (${sql.bindAll(after)})`
  const text = `select c.repo, c.digest, l.package, p.purl, p.version ${FROM}
    where ${where}${rest} order by c.repo, c.digest, l.package limit ${sql.bind(limit)}`
  return runLongText<PackageImageRow>(db, text, sql)
}

async function countPackageImages(db: Db, query: PackageQuery): Promise<number> {
  const sql = sqlText(db.engine)
  const text = `select count(*) as n ${FROM} where ${whereText(sql, query)}`
  const [row] = await runLongText<{ n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}
