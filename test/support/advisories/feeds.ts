import type { Api } from '../api/api-fixture.ts'
import { eventually } from '../eventually.ts'

/** Feeds of advisories in tests. */

export const FEEDS = 'vulnerabilities/advisoryFeeds'

/** An OSV record of one advisory. */
export function osvRecord(
  number: number,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    id: `CVE-2024-${1000 + number}`,
    modified: '2024-05-01T00:00:00Z',
    published: '2024-04-01T00:00:00Z',
    affected: [{ package: { ecosystem: 'npm', name: `package-${number % 7}` } }],
    ...more,
  }
}

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
type Json = any

/** A feed as soon as it is as it should be. */
export async function waitForFeed(api: Api, uid: string, matches: (feed: Json) => boolean): Promise<Json> {
  const read = async () => {
    const { body, status } = await api.get(`${FEEDS}/${uid}`)
    return { body, status }
  }
  const { body } = await eventually(read, ({ body, status }) => status === 200 && matches(body))
  return body
}

export async function countAdvisories(
  api: Api,
  group: string,
  filter: Readonly<Record<string, string>> = {},
) {
  const query = { 'uidp.descendantsOf': group, pageSize: '1', ...filter }
  const { body } = await api.get('vulnerabilities/advisories', query)
  return Number(body.totalCount)
}
