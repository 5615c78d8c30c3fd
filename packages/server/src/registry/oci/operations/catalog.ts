import type { Authorization } from '../../../pipeline/authorization.ts'
import type { HttpReply } from '../../../port/http.ts'
import type { OciContext, OciServices } from '../context.ts'
import { repoNames } from './catalog-order.ts'
import { nextPageLink, parsePageSize } from './tags.ts'

/** Lists the names of the repos that the caller may list (R35), in the order of their bytes. */
export async function listCatalog(
  { store }: OciServices,
  { query, authorization }: OciContext<Authorization>,
): Promise<HttpReply> {
  const n = parsePageSize(query)
  const found: string[] = []
  if (n > 0)
    for await (const name of repoNames(
      store.db,
      authorization.visible?.scopes ?? [],
      query.get('last') ?? '',
    )) {
      found.push(name)
      if (found.length > n) break
    }
  const names = found.slice(0, n)
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      ...nextPageLink(found.length > n, '/v2/_catalog', { n, last: names.at(-1) }),
    },
    body: JSON.stringify({ repositories: names }),
  }
}
