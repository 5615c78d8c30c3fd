import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import type { ManifestRow } from '../../storage/schema/tables.ts'
import { runText, type SqlText, sqlText } from '../../storage/sql-text.ts'
import { subjectOfTag } from '../retention/evaluation.ts'

/** Lists what refers to a manifest: by tags that are attached to it, then by its subject. */

export interface ReferrerRow
  extends Pick<ManifestRow, 'digest' | 'media_type' | 'artifact_type' | 'size' | 'created_ms'> {
  /** '' for one that refers to its subject. */
  readonly tag: string
  /** Null if there are many bytes. */
  readonly annotations: string | null
  readonly referrers: number
}

/** The last referrer of a page: `tag` and its name, or `digest` and its digest. */
export type ReferrerCursor = readonly [kind: 'tag' | 'digest', value: string]

interface ReferrerQuery {
  readonly repo: string
  readonly subject: string
  readonly artifactType: string
  readonly after: ReferrerCursor | undefined
  readonly size: number
}

export interface ReferrerPage {
  readonly rows: readonly ReferrerRow[]
  readonly next: ReferrerCursor | undefined
}

export async function readReferrerPage(db: Db, query: ReferrerQuery): Promise<ReferrerPage> {
  const { after, size } = query
  const [kind = 'tag', value = ''] = after ?? []
  const attached = kind === 'tag' ? await attachedPage(db, query, value) : []
  const more = size + 1 - attached.length
  const bySubject =
    more > 0 ? await subjectPage(db, { ...query, size: more }, kind === 'digest' ? value : '') : []
  const found = [...attached, ...bySubject]
  const rows = found.slice(0, size)
  const last = rows.at(-1)
  const isEnd = last === undefined || found.length <= size
  return { rows, next: isEnd ? undefined : last.tag === '' ? ['digest', last.digest] : ['tag', last.tag] }
}

const columnsText = (root: string) => `m.digest, m.media_type, m.artifact_type, m.size, m.created_ms,
  case when octet_length(m.annotations) <= ${limits.listedAnnotationsBytesMax} then m.annotations end as annotations,
  (select count(*) from manifests r
    where r.root = ${root} and r.repo = m.repo and r.subject = m.digest and r.subject <> '') as referrers`

async function attachedPage(
  db: Db,
  { repo, subject, artifactType, size }: ReferrerQuery,
  after: string,
): Promise<ReferrerRow[]> {
  const prefix = subject.replace(':', '-')
  const sql = sqlText(db.engine)
  // Ones that also name their subject are listed by it.
  const text = `select t.name as tag, ${columnsText(sql.bind(rootOf(repo)))}
    from tags t join manifests m on m.root = t.root and m.repo = t.parent and m.digest = t.digest
    where t.root = ${sql.bind(rootOf(repo))} and t.parent = ${sql.bind(repo)}
      and t.name >= ${sql.bind(prefix)} and t.name < ${sql.bind(`${prefix}~`)} and t.name > ${sql.bind(after)}
      and m.subject <> ${sql.bind(subject)}${artifactTypeText(sql, artifactType)}
    order by t.name limit ${sql.bind(size + 1)}`
  return (await runText<ReferrerRow>(db, text, sql)).filter(({ tag }) => subjectOfTag(tag) === subject)
}

async function subjectPage(
  db: Db,
  { repo, subject, artifactType, size }: ReferrerQuery,
  after: string,
): Promise<ReferrerRow[]> {
  const sql = sqlText(db.engine)
  const text = `select '' as tag, ${columnsText(sql.bind(rootOf(repo)))} from manifests m
    where m.root = ${sql.bind(rootOf(repo))} and m.repo = ${sql.bind(repo)} and m.subject = ${sql.bind(subject)}
      and m.subject <> '' and m.digest > ${sql.bind(after)}${artifactTypeText(sql, artifactType)}
    order by m.digest limit ${sql.bind(size)}`
  return runText<ReferrerRow>(db, text, sql)
}

function artifactTypeText(sql: SqlText, artifactType: string): string {
  return artifactType === '' ? '' : ` and m.artifact_type = ${sql.bind(artifactType)}`
}

/** Counts what refers to a digest by its subject or is attached by a tag. */
export async function countReferrers(db: Db, repo: string, subject: string): Promise<number> {
  const prefix = subject.replace(':', '-')
  const sql = sqlText(db.engine)
  const text = `select (select count(*) from manifests m
      where m.root = ${sql.bind(rootOf(repo))} and m.repo = ${sql.bind(repo)} and m.subject = ${sql.bind(subject)}
        and m.subject <> '') + (select count(*)
      from tags t join manifests m on m.root = t.root and m.repo = t.parent and m.digest = t.digest
      where t.root = ${sql.bind(rootOf(repo))} and t.parent = ${sql.bind(repo)}
        and t.name >= ${sql.bind(prefix)} and t.name < ${sql.bind(`${prefix}~`)} and m.subject <> ${sql.bind(subject)}) as n`
  const [row] = await runText<{ n: number }>(db, text, sql)
  return Number(row?.n ?? 0)
}

/** Returns stored annotations. */
export function toAnnotations(stored: string | null): Record<string, string> {
  if (stored === null || stored === '') return {}
  return Object.fromEntries(
    Object.entries(JSON.parse(stored) as Record<string, unknown>).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name.toWellFormed(), value.toWellFormed()]] : [],
    ),
  )
}
