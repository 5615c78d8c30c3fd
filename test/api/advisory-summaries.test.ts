import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdvisorySummariesService } from '@berth/contract/gen/berth/vulnerabilities/v1/summaries_pb.js'
import { osvRecord } from '../support/advisories/feeds.ts'
import {
  assertError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'

const vectors = {
  critical: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H',
  medium: 'CVSS:3.0/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N',
} as const

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
type Json = any

const wolfi = (name: string, cve: string, type: string, time = '2024-05-01T10:00:00Z') => ({
  name: `${name}.yaml`,
  content: Buffer.from(`schema-version: 2.0.2
package:
  name: ${name}
advisories:
  - id: CGA-2222-3333-${String(name.length).repeat(4)}
    aliases: [${cve}]
    events:
      - {timestamp: ${time}, type: ${type === 'fixed' ? 'fixed, data: {fixed-version: 1.0-r0}' : 'detection, data: {type: manual}'}}
`).toString('base64'),
})

const score = (cve: string, vector: string) => ({
  name: `${cve}.json`,
  content: Buffer.from(
    JSON.stringify(osvRecord(1, { id: cve, severity: [{ type: 'CVSS_V3', score: vector }] })),
  ).toString('base64'),
})

onEveryDatabase('advisory summaries', (cast) => {
  const setUp = async () => {
    const organization = await cast().organization()
    const { api } = await organization.member('advisories.admin')
    const folder = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const send = async (group: string, ...documents: Json[]) => {
      const { body } = await api.post(`vulnerabilities/advisories/${group}:importDocuments`, { documents })
      for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
    }
    const summary = async (group: string): Promise<Json> => {
      const { status, body, text } = await api.get(`vulnerabilities/advisorySummaries/${group}`)
      assert.equal(status, 200, text)
      return body
    }
    /** Counts are at most a moment behind. */
    const counted = async (group: string): Promise<Json> => {
      for (;;) {
        const found = await summary(group)
        if (!found.outdated) return found
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    return { ...organization, api, folder: folder.uid, send, summary, counted }
  }

  test('a summary counts a group and its descendants by state, severity and month', async () => {
    const { uid, folder, send, counted } = await setUp()
    const empty = await counted(uid)
    assert.deepEqual([empty.totalCount, empty.states, empty.severities, empty.months], ['0', [], [], []])
    await send(
      folder,
      wolfi('git', 'CVE-2024-1000', 'fixed'),
      wolfi('curl', 'CVE-2024-2000', 'detection', '2024-06-02T00:00:00Z'),
      wolfi('openssl', 'CVE-2024-3000', 'detection', '2024-06-30T23:59:59Z'),
    )
    const before = await counted(uid)
    assert.deepEqual(before.severities, [{ rating: 'RATING_UNKNOWN', count: '3' }])
    assert.deepEqual(before.states, [
      { latestEventType: 'EVENT_TYPE_FILTER_DETECTION', count: '2' },
      { latestEventType: 'EVENT_TYPE_FILTER_FIXED', count: '1' },
    ])
    // Scores of a group above apply to its descendants.
    await send(
      uid,
      score('CVE-2024-1000', vectors.critical),
      score('CVE-2024-2000', vectors.medium),
      score('CVE-2024-2000', vectors.medium),
    )
    const after = await counted(folder)
    assert.equal(after.totalCount, '3')
    assert.deepEqual(after.severities, [
      { rating: 'RATING_CRITICAL', count: '1' },
      { rating: 'RATING_MEDIUM', count: '1' },
      { rating: 'RATING_UNKNOWN', count: '1' },
    ])
    assert.deepEqual(after.months, [
      { month: '2024-05', severities: [{ rating: 'RATING_CRITICAL', count: '1' }] },
      {
        month: '2024-06',
        severities: [
          { rating: 'RATING_MEDIUM', count: '1' },
          { rating: 'RATING_UNKNOWN', count: '1' },
        ],
      },
    ])
    assert.ok(Date.parse(after.severityTime) > 0)
  })

  test('it requires advisories.list in the group, and both protocols return the same', async () => {
    const { uid, folder, member } = await setUp()
    const { api } = await member('viewer')
    const rest = await api.get(`vulnerabilities/advisorySummaries/${uid}`)
    assert.equal(rest.status, 200)
    const { totalCount } = await cast().grpc.call(
      AdvisorySummariesService.method.getAdvisorySummary,
      { uid },
      { token: cast().berth.token },
    )
    assert.equal(totalCount, 0n)
    const stranger = await cast().organization()
    const { api: other } = await stranger.member('owner')
    assertError(await other.get(`vulnerabilities/advisorySummaries/${folder}`), permissionDeniedError)
    const missing = `${uid}/${'0'.repeat(16)}`
    assertError(
      await api.get(`vulnerabilities/advisorySummaries/${missing}`),
      notFoundError('iam.chainguard.dev/Group', missing),
    )
  })
})
