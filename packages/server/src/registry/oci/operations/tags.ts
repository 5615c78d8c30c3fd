import { rootOf } from '../../../api/uid.ts'
import { limits } from '../../../config/limits.ts'
import type { HttpReply } from '../../../port/http.ts'
import { runText, sqlText } from '../../../storage/sql-text.ts'
import { type OciContext, type OciServices, requireRepo } from '../context.ts'
import { ociError } from '../errors.ts'

/** Lists the names of tags in byte order, a page at a time. */
export async function listTags(
  { store }: OciServices,
  { authorization: { repository }, query }: OciContext,
): Promise<HttpReply> {
  const { db } = store
  const repo = requireRepo(repository)
  const n = parsePageSize(query)
  const sql = sqlText(db.engine)
  const text = `select name from tags where root = ${sql.bind(rootOf(repo))} and parent = ${sql.bind(repo)}
    and name > ${sql.bind(query.get('last') ?? '')} order by name limit ${sql.bind(n + 1)}`
  const found = n === 0 ? [] : await runText<{ name: string }>(db, text, sql)
  const tags = found.slice(0, n).map(({ name }) => name)
  const name = repository.name.text
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...nextPageLink(found.length > n, `/v2/${name}/tags/list`, { n, last: tags.at(-1) }),
    },
    body: JSON.stringify({ name, tags }),
  }
}

/** Returns the requested page size, reduced to the maximum without an error (R28). */
export function parsePageSize(query: URLSearchParams): number {
  const text = query.get('n')
  if (text === null || text === '') return limits.registryListMax
  if (!/^\d+$/.test(text)) throw ociError('PAGINATION_NUMBER_INVALID', 'n must be a number')
  return Math.min(Number(text), limits.registryListMax)
}

/** Returns the RFC 8288 link to the next page. */
export function nextPageLink(
  more: boolean,
  path: string,
  parameters: Readonly<Record<string, string | number | undefined>>,
): Record<string, string> {
  if (!more) return {}
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, String(value))
  return { link: `<${path}?${query}>; rel="next"` }
}
