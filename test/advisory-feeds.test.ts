import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { limits } from '@berth/server/config/limits.ts'
import { buildZip } from './support/advisories/archives.ts'
import { epss, kev, LOG4SHELL } from './support/advisories/catalogs.ts'
import {
  etagOf,
  type FeedServer,
  sendFile,
  startFeedServer,
  trustedCertificate,
} from './support/advisories/feed-server.ts'
import { countAdvisories, FEEDS, osvRecord, waitForFeed } from './support/advisories/feeds.ts'
import { newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { cleanups } from './support/server/process.ts'

/** Feeds run when they are due, whatever their servers do. */

const cleanup = cleanups()
let server: FeedServer
before(async () => {
  server = await startFeedServer(cleanup, trustedCertificate())
})
after(() => cleanup.run())

// Short, because tokens live an hour.
const INTERVAL_MS = limits.feedIntervalMsMin
const MINUTE_MS = limits.feedBackoffMsMin

let lastPath = 0
/** An address of its own for each test. */
const newPath = () => `/${++lastPath}/all.zip`

const archive = (records: readonly object[]) =>
  buildZip(records.map((record, at) => ({ name: `${at}.json`, content: JSON.stringify(record) })))
const some = (count: number, from = 1) => Array.from({ length: count }, (_, at) => osvRecord(from + at))

onEveryDatabase(
  'reading feeds',
  (cast, { testOnce }) => {
    const prepare = async () => {
      const { uid: group, member } = await cast().organization()
      const { api } = await member('advisories.admin')
      const path = newPath()
      const add = (more: object = {}) => api.create(`${FEEDS}/${group}`, { url: server.url + path, ...more })
      return { api, group, path, add }
    }
    const metrics = async () => (await fetch(`${cast().berth.berth.metricsUrl}/metrics`)).text()
    const advance = (ms: number) => cast().berth.advance(ms)
    const requestsTo = (path: string) => server.requests.filter((request) => request.path === path)

    testOnce(
      'catalogs of exploited vulnerabilities are feeds, in the form in which they are published',
      async () => {
        const { api, group, path, add } = await prepare()
        for (const [file, content, id, cves] of [
          [
            'known_exploited_vulnerabilities.json',
            kev([LOG4SHELL]),
            'CISA Catalog of Known Exploited Vulnerabilities',
            1,
          ],
          [
            'epss_scores-current.csv.gz',
            gzipSync(epss({ 'CVE-2021-44228': [0.9, 1], 'CVE-2000-0001': [0, 0] })),
            'epss',
            2,
          ],
        ] as const) {
          const address = path.replace('all.zip', file)
          server.files.set(address, Buffer.from(content))
          const { uid } = await add({ url: server.url + address })
          const { lastRun } = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
          assert.deepEqual(
            [lastRun.documents, lastRun.scored, lastRun.created, lastRun.rejected],
            [1, cves, 0, 0],
          )
          const { body } = await api.get(`vulnerabilities/advisories/${group}/documents`, { id })
          assert.equal(body.documents[0].id, id)
        }
      },
    )

    test('a feed runs immediately and then each interval; unchanged files are neither downloaded nor written', async () => {
      const { api, group, path, add } = await prepare()
      server.files.set(path, archive([...some(20), { nothing: 'known' }]))
      const { uid } = await add({ interval: `${INTERVAL_MS / 1000}s` })
      const first = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      const { rejections, ...counts } = first.lastRun
      assert.deepEqual(counts, {
        ...{ documents: 20, skipped: 0, rejected: 1, created: 20, updated: 0, unchanged: 0 },
        ...{ withdrawn: 0, covered: 0, scored: 0, older: 0 },
      })
      const [{ name, line, reason, accepted }] = rejections
      assert.deepEqual(
        [rejections.length, name, line, accepted],
        [1, `${server.url}${path}:20.json`, 1, false],
      )
      assert.match(reason, /is not a Wolfi, OSV, secdb, OpenVEX or CSAF document, nor a KEV or EPSS catalog/)
      assert.equal(first.sourceEtag, etagOf(server.files.get(path) ?? Buffer.alloc(0)))
      assert.equal(await countAdvisories(api, group), 20)
      const waitsMs = Date.parse(first.nextAttemptTime) - Date.parse(first.lastSuccessTime)
      assert.ok(waitsMs >= INTERVAL_MS * 0.95 && waitsMs <= INTERVAL_MS * 1.05, String(waitsMs))
      const audited = await cast().auditEventsOf(group)
      const imports = audited.filter(({ method }) => method.endsWith('/SyncAdvisoryFeed'))
      assert.deepEqual([imports.length, imports[0]?.actor], [20, 'system'])

      advance(INTERVAL_MS * 1.06)
      const second = await waitForFeed(
        api,
        uid,
        ({ lastSuccessTime }) => lastSuccessTime > first.lastSuccessTime,
      )
      assert.equal(requestsTo(path).length, 2)
      assert.equal(requestsTo(path)[1]?.headers['if-none-match'], first.sourceEtag)
      assert.deepEqual(second.lastRun, first.lastRun)
      assert.equal(second.updateTime, first.updateTime)
      assert.equal((await cast().auditEventsOf(group)).length, audited.length)

      const withdrawn = {
        ...osvRecord(1),
        modified: '2024-06-01T00:00:00Z',
        withdrawn: '2024-06-01T00:00:00Z',
      }
      server.files.set(path, archive([withdrawn, ...some(20, 2)]))
      advance(INTERVAL_MS * 1.06)
      const third = await waitForFeed(
        api,
        uid,
        ({ lastSuccessTime }) => lastSuccessTime > second.lastSuccessTime,
      )
      assert.deepEqual(
        [third.lastRun.created, third.lastRun.unchanged, third.lastRun.rejected],
        [1, 19, 0],
        JSON.stringify(third.lastRun),
      )
      assert.equal(await countAdvisories(api, group), 20)

      const text = await metrics()
      assert.match(
        text,
        new RegExp(
          `last_success_timestamp_seconds\\{feed="${uid}"\\} ${Date.parse(third.lastSuccessTime) / 1000}`,
        ),
      )
      assert.match(text, /^berth_advisory_feed_documents_total\{result="accepted"\} [4-9]\d/m)
      assert.match(text, /^berth_advisory_feed_runs_total\{outcome="unchanged"\} [1-9]/m)
    })

    test('a failing feed backs off, and waits as long as its server asks', async () => {
      const { api, path, add } = await prepare()
      const { uid } = await add()
      let waitedMs = 0
      for (const failures of [1, 2, 3, 4]) {
        const feed = await waitForFeed(
          api,
          uid,
          (one) => one.state === 'STATE_FAILED' && one.failures === failures,
        )
        assert.equal(feed.lastError, 'the server responded with status 404')
        const waitsMs = Date.parse(feed.nextAttemptTime) - Date.parse(feed.lastAttemptTime)
        const mostMs = MINUTE_MS * 2 ** (failures - 1)
        assert.ok(waitsMs >= mostMs / 2 && waitsMs <= mostMs + 5000, `${failures}: ${waitsMs}`)
        advance(mostMs + 5000)
        waitedMs += waitsMs
      }
      assert.ok(waitedMs > 0)
      await waitForFeed(api, uid, ({ failures }) => failures === 5)
      server.answer = (request, response) => {
        if (request.url === path) response.writeHead(429, { 'retry-after': '86400' }).end()
      }
      await api.create(`${FEEDS}/${uid}:sync`, {})
      const asked = await waitForFeed(api, uid, ({ failures }) => failures === 6)
      assert.equal(asked.lastError, 'the server responded with status 429')
      assert.ok(Date.parse(asked.nextAttemptTime) - Date.parse(asked.lastAttemptTime) >= 86_400_000)
      server.answer = undefined
      server.files.set(path, archive(some(3)))
      await api.create(`${FEEDS}/${uid}:sync`, {})
      const mended = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      assert.deepEqual([mended.failures, mended.lastError, mended.lastRun.created], [0, '', 3])
      assert.match(await metrics(), /^berth_advisory_feed_failures_total [6-9]/m)
    })

    testOnce('a file that is not a feed fails with a reason', async () => {
      for (const [content, reason] of [
        [Buffer.from('<html>not here</html>'), /^no document could be imported: /],
        [Buffer.from('PK\x03\x04 and no more'), /^the file cannot be unpacked: End of central directory/],
        [
          buildZip([{ name: 'a.json', content: '{}' }]),
          /^no document could be imported: the document is not a Wolfi, OSV/,
        ],
      ] as const) {
        const { api, path, add } = await prepare()
        server.files.set(path, content)
        const { uid } = await add()
        const feed = await waitForFeed(api, uid, ({ state }) => state === 'STATE_FAILED')
        assert.match(feed.lastError, reason)
        assert.equal(feed.sourceEtag, '')
        await api.delete(`${FEEDS}/${uid}`)
      }
    })

    testOnce('an interrupted transfer is resumed by the next run', async () => {
      const { api, path, add } = await prepare()
      const content = archive(some(60))
      server.files.set(path, content)
      let answered = 0
      server.answer = (request, response) => {
        if (request.url !== path || answered >= 2) return sendFile(request, response, content)
        if (answered++ === 1) return void response.writeHead(503).end()
        response.writeHead(200, { etag: etagOf(content), 'content-length': content.byteLength })
        response.write(content.subarray(0, 5000), () => setTimeout(() => response.destroy(), 500))
      }
      const { uid } = await add()
      await waitForFeed(api, uid, ({ state }) => state === 'STATE_FAILED')
      await api.create(`${FEEDS}/${uid}:sync`, {})
      const feed = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      server.answer = undefined
      assert.equal(feed.lastRun.created, 60)
      assert.deepEqual(
        requestsTo(path).map(({ headers }) => headers.range),
        [undefined, 'bytes=5000-', 'bytes=5000-'],
      )
    })

    test('deleting or pausing a feed ends its run', async () => {
      for (const end of ['remove', 'pause'] as const) {
        const { api, group, path, add } = await prepare()
        server.files.set(path, archive(some(500)))
        const { uid } = await add()
        await waitForFeed(api, uid, ({ state }) => state === 'STATE_RUNNING')
        for (let looks = 0; (await countAdvisories(api, group)) === 0; looks++) {
          assert.ok(looks < 10_000)
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
        if (end === 'remove') assert.equal((await api.delete(`${FEEDS}/${uid}`)).status, 200)
        else assert.equal((await api.patch(`${FEEDS}/${uid}`, { paused: true })).body.state, 'STATE_PAUSED')
        // The document that is being imported may still arrive; a run that continues imports all of them.
        let count = 0
        for (let before = -1; count !== before; ) {
          before = count
          await new Promise((resolve) => setTimeout(resolve, 500))
          count = await countAdvisories(api, group)
        }
        assert.ok(count > 0 && count < 500, String(count))
        if (end === 'remove') continue
        server.files.set(path, archive(some(30)))
        await api.patch(`${FEEDS}/${uid}`, { paused: false }, 'paused')
        const feed = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
        assert.equal(feed.lastRun.documents, 30)
      }
    })

    test('a sync that is requested during a run follows it', async () => {
      const { api, path, add } = await prepare()
      const requested = Promise.withResolvers<void>()
      server.answer = (request, response) =>
        void requested.promise.then(() => sendFile(request, response, archive(some(50))))
      const { uid } = await add()
      await waitForFeed(api, uid, ({ state }) => state === 'STATE_RUNNING')
      await api.create(`${FEEDS}/${uid}:sync`, { full: true })
      requested.resolve()
      const feed = await waitForFeed(api, uid, ({ lastRun }) => lastRun?.unchanged === 50)
      assert.equal(feed.lastRun.created, 0)
      assert.equal(requestsTo(path).length, 2)
      assert.equal(requestsTo(path)[1]?.headers['if-none-match'], undefined)
      server.answer = undefined
    })

    testOnce('hanging feeds of one organization leave capacity for those of others', async () => {
      const hanging = await prepare()
      const other = await prepare()
      const open = new Set<object>()
      server.answer = (request, response) => {
        if (!request.url?.startsWith('/hang')) return sendFile(request, response, archive(some(3)))
        open.add(response)
        response.on('close', () => open.delete(response))
      }
      const uids: string[] = []
      for (let n = 0; n < limits.feedConcurrencyMax + 1; n++)
        uids.push((await hanging.add({ url: `${server.url}/hang/${newName('feed')}` })).uid)
      const max = limits.feedConcurrencyPerOrganizationMax
      while (open.size < max) await new Promise((resolve) => setTimeout(resolve, 10))
      server.files.set(other.path, archive(some(3)))
      const { uid } = await other.add()
      const { lastRun } = await waitForFeed(other.api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      assert.deepEqual([lastRun.created, open.size], [3, max])
      for (const feed of uids) await hanging.api.delete(`${FEEDS}/${feed}`)
      server.answer = undefined
    })

    test('a feed with a changed format is imported again', async () => {
      const { api, path, add } = await prepare()
      server.files.set(path, archive(some(3)))
      const { uid } = await add({ format: 'wolfi' })
      const wrong = await waitForFeed(api, uid, ({ state }) => state === 'STATE_FAILED')
      assert.equal(wrong.lastRun.rejected, 3)
      await api.patch(`${FEEDS}/${uid}`, { format: 'osv' })
      const right = await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')
      assert.equal(right.lastRun.created, 3)
    })

    test('runs are listed with who requested them, counts and reasons; scheduled runs without news are not', async () => {
      const { uid: group, member } = await cast().organization()
      const { api, uid: person } = await member('advisories.admin')
      const path = newPath()
      server.files.set(path, archive(some(3)))
      const { uid } = await api.create(`${FEEDS}/${group}`, {
        url: server.url + path,
        interval: `${INTERVAL_MS / 1000}s`,
      })
      const runs = async (query: Readonly<Record<string, string>> = {}, as = api) =>
        (await as.get('vulnerabilities/advisoryFeedRuns', { feedUid: uid, ...query })).body
      const waitForEnd = (after: string, state: string) =>
        waitForFeed(api, uid, (feed) => feed.state === state && feed.lastAttemptTime !== after)
      const next = async (state: string, after: string) => {
        advance(INTERVAL_MS * 1.06)
        return (await waitForEnd(after, state)).lastAttemptTime as string
      }
      let last = (await waitForFeed(api, uid, ({ state }) => state === 'STATE_SUCCEEDED')).lastAttemptTime
      const [first] = (await runs()).advisoryFeedRuns
      assert.deepEqual(
        [first.feedUid, first.state, first.actor, first.error, first.startTime],
        [uid, 'STATE_SUCCEEDED', person, '', last],
      )
      assert.deepEqual([first.counts.created, first.counts.documents], [3, 3])
      assert.ok(first.uid.startsWith(`${uid}/`))
      assert.ok(Date.parse(first.endTime) >= Date.parse(first.startTime))

      last = await next('STATE_SUCCEEDED', last)
      assert.equal((await runs()).totalCount, '1', 'nothing was new')
      server.files.set(path, archive(some(5)))
      last = await next('STATE_SUCCEEDED', last)
      server.files.delete(path)
      last = await next('STATE_FAILED', last)
      const failedFeed = (await api.get(`${FEEDS}/${uid}`)).body
      server.files.set(path, archive(some(5)))
      advance(1000)
      await api.create(`${FEEDS}/${uid}:sync`, {})
      await waitForEnd(last, 'STATE_SUCCEEDED')

      const { advisoryFeedRuns: all, totalCount } = await runs()
      assert.equal(totalCount, '4')
      assert.deepEqual(
        // biome-ignore lint/suspicious/noExplicitAny: JSON of the API.
        all.map((run: any) => [run.state, run.actor, run.counts.created]),
        [
          ['STATE_SUCCEEDED', person, 0],
          ['STATE_FAILED', 'system', 0],
          ['STATE_SUCCEEDED', 'system', 2],
          ['STATE_SUCCEEDED', person, 3],
        ],
      )
      assert.deepEqual([all[1].error, all[1].error !== ''], [failedFeed.lastError, true])
      const totals = async (query: Readonly<Record<string, string>>) => (await runs(query)).totalCount
      assert.equal(await totals({ states: 'STATE_FAILED' }), '1')
      assert.equal(await totals({ states: 'STATE_RUNNING' }), '0')
      assert.equal(await totals({ actor: person }), '2')
      assert.equal(await totals({ since: all[1].startTime }), '2')
      assert.equal(await totals({ until: all[1].startTime }), '2')
      assert.equal(await totals({ feedUid: '', 'uidp.descendantsOf': group }), '4')
      const page = await runs({ pageSize: '3', orderBy: 'start_time' })
      const rest = await runs({ pageSize: '3', orderBy: 'start_time', pageToken: page.nextPageToken })
      assert.deepEqual(
        [...page.advisoryFeedRuns, ...rest.advisoryFeedRuns].map((run: { uid: string }) => run.uid),
        all.map((run: { uid: string }) => run.uid).toReversed(),
      )
      const wrong = await api.get('vulnerabilities/advisoryFeedRuns', { states: 'STATE_UNSPECIFIED' })
      assert.equal(wrong.status, 400, wrong.text)
      const stranger = await (await cast().organization()).member('advisories.admin')
      assert.equal((await runs({}, stranger.api)).totalCount, '0')

      await api.delete(`${FEEDS}/${uid}`)
      assert.equal((await runs()).totalCount, '0')
    })
  },
  { feeds: { pollMs: 25 }, env: { BERTH_METRICS_LISTEN: '127.0.0.1:0' } },
)
