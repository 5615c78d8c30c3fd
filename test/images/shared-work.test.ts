import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openPostgresDb } from '@berth/server/storage/db.ts'
import { nodeOfRunner } from '@berth/server/storage/jobs/job-leases.ts'
import { freePort } from '../../scripts/free-port.ts'
import { apiOf } from '../support/api/api-fixture.ts'
import { startPostgres, withoutPostgres } from '../support/database/postgres.ts'
import { eventually } from '../support/eventually.ts'
import { importAdvisory, serverProgram } from '../support/images/contents-crash.ts'
import { alpineFiles, imageOfFiles, repoUid } from '../support/images/readable-image.ts'
import { ociClient, pushImage } from '../support/registry/registry.ts'
import { runBerth, serveBerth, temporaryDirectory } from '../support/server/process.ts'

/** Two nodes, each a process, read and match the images of one installation. */

const ROUNDS_MAX = 50
/** Long enough that no lease is lost on a busy machine, which would read its image twice. */
const LEASE_MS = '2000'

test('two nodes share the reading and the matching, and one continues what the other was killed in', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  const host = `127.0.0.1:${await freePort()}`
  const settings = {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_DATABASE_URL: url,
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
    BERTH_BASE_URL: `http://${host}`,
    BERTH_LOG_LEVEL: 'error',
  }
  const startNode = async (listen: string) => {
    const metrics = `127.0.0.1:${await freePort()}`
    const env = { ...settings, BERTH_LISTEN: listen, BERTH_METRICS_LISTEN: metrics }
    const server = await serveBerth(t, env, [LEASE_MS], { as: serverProgram })
    /** Runs of a job on this node that succeeded. */
    const countRuns = async (job: string) => {
      const text = await (await fetch(`http://${metrics}/metrics`)).text()
      return Number(
        new RegExp(`^berth_job_runs_total\\{.*"${job}".*"succeeded".*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0,
      )
    }
    return { ...server, countRuns }
  }
  const stays = await startNode(host)
  const bootstrapped = await runBerth(t, ['admin', 'bootstrap', '--json'], settings)
  const root: string = JSON.parse(bootstrapped.stdout).organization.uid
  const bearer = (await runBerth(t, ['admin', 'token', '--audience', host], settings)).stdout.trim()
  const token = (await runBerth(t, ['admin', 'token'], settings)).stdout.trim()
  const api = apiOf({ url: `http://${host}` }, token)
  const client = ociClient({ url: `http://${host}` }, `Bearer ${bearer}`)
  const db = await openPostgresDb(url, { onError: () => undefined })
  t.after(() => db.close())

  const digests: string[] = []
  let repo = ''
  const push = async (count: number) => {
    for (let at = 0; at < count; at++) {
      const image = await imageOfFiles([alpineFiles(`a${digests.length} 1-r0`, 'b 1-r0')])
      digests.push((await pushImage(client, `${root}/app`, image)).digest)
    }
    repo ||= await repoUid(api, `${root}/app`)
  }
  let advisories = 0
  const verifyAll = async () => {
    const verify = async (digest: string) => {
      const { body } = await eventually(
        () => api.get(`vulnerabilities/imageFindings/${repo}`, { digest, pageSize: '1000' }),
        ({ body }) => body.matched === true && Number(body.totalCount) === advisories,
      )
      assert.equal(body.contentsState, 'read')
    }
    await Promise.all(digests.map(verify))
    const { body } = await api.get(`registry/package_images/${root}`, { purl: 'pkg:apk/alpine/b' })
    assert.equal(Number(body.totalCount), digests.length)
  }
  const importOne = () => importAdvisory(api, root, `CVE-2026-${1000 + advisories++}`, 'b-src')

  await push(1)
  await verifyAll()
  const { node: own } = await db.kysely
    .selectFrom('job_results')
    .select('node')
    .where('kind', '=', 'image-contents')
    .executeTakeFirstOrThrow()

  const other = await startNode('127.0.0.1:0')
  // Each leases what it finds first.
  const done = async () => ({
    read: await Promise.all([stays, other].map(({ countRuns }) => countRuns('image_contents'))),
    matched: await Promise.all([stays, other].map(({ countRuns }) => countRuns('findings'))),
  })
  for (let round = 0; ; round++) {
    await push(4)
    await importOne()
    await verifyAll()
    const { read, matched } = await done()
    if ([...read, ...matched].every((count) => count > 0)) break
    assert.ok(round < ROUNDS_MAX, JSON.stringify({ read, matched }))
  }
  const { read } = await eventually(
    done,
    ({ read }) => read.reduce((sum, count) => sum + count) >= digests.length,
  )
  assert.equal(
    read.reduce((sum, count) => sum + count),
    digests.length,
    'each image is read once',
  )

  const hasLease = async () => {
    const runners = await db.kysely
      .selectFrom('manifest_contents')
      .select('runner')
      .where('runner', '<>', '')
      .execute()
    return runners.some(({ runner }) => nodeOfRunner(runner) !== own)
  }
  const work = (async () => {
    for (let round = 0; round < ROUNDS_MAX && other.child.signalCode === null; round++) await push(2)
  })()
  await eventually(hasLease, Boolean, { pollMs: 0 })
  other.child.kill('SIGKILL')
  await Promise.all([work, other.finished])
  await importOne()
  await verifyAll()
})
