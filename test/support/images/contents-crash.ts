import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../scripts/free-port.ts'
import { type Api, apiOf } from '../api/api-fixture.ts'
import { eventually } from '../eventually.ts'
import { ociClient, pushImage } from '../registry/registry.ts'
import { type Cleanup, runBerth, serveBerth } from '../server/process.ts'
import { alpineFiles, imageOfFiles, repoUid, waitForContents } from './readable-image.ts'

const IMAGES_PER_ROUND = 4
/** A server that starts to read and match soon, in a process that a test can kill. */
export const serverProgram = fileURLToPath(new URL('../server/contents-server.ts', import.meta.url))

const cveOf = (kind: number, round: number) => `CVE-2026-${kind}${String(round).padStart(3, '0')}`

/** An advisory of the package \`b\`, which every image contains, or of \`a0\`, `a1`… of one round. */
function advisoryOf(id: string, origin: string) {
  const document = {
    schema_version: '1.6.0',
    id,
    modified: '2026-01-02T00:00:00Z',
    affected: [
      {
        package: { ecosystem: 'Alpine:v3.20', name: origin },
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }] }],
      },
    ],
  }
  return { name: `${id}.json`, content: Buffer.from(JSON.stringify(document)).toString('base64') }
}

/** Imports an advisory of an origin package. */
export async function importAdvisory(api: Api, root: string, id: string, origin: string): Promise<void> {
  const documents = [advisoryOf(id, origin)]
  const { body } = await api.post(`vulnerabilities/advisories/${root}:importDocuments`, { documents })
  for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
}

/**
 * Pushes images and imports advisories, and kills the server in the middle of reading and matching them, again and again. In the end every
 * image has its two packages and exactly the findings of the advisories that were imported.
 */
export async function contentsCrashRounds(
  t: Cleanup,
  env: Readonly<Record<string, string>>,
  rounds: number,
): Promise<{
  readonly images: number
  readonly findings: number
  readonly unread: number
  readonly unmatched: number
}> {
  const host = `127.0.0.1:${await freePort()}`
  const settings = { ...env, BERTH_LISTEN: host, BERTH_LOG_LEVEL: 'error' }
  const pushed: { readonly digest: string; readonly round: number }[] = []
  // Images that were not read, or read and not matched, when their server was killed.
  let [unread, unmatched] = [0, 0]
  let [root, bearer, token, repo] = ['', '', '', '']
  const api = () => apiOf({ url: `http://${host}` }, token)
  const findingsOf = async (digest: string) =>
    (await api().get(`vulnerabilities/imageFindings/${repo}`, { digest, pageSize: '1000' })).body
  for (let round = 0; round <= rounds; round++) {
    const server = await serveBerth(t, settings, [], { as: serverProgram })
    if (round === 0) {
      const bootstrapped = await runBerth(t, ['admin', 'bootstrap', '--json'], settings)
      root = JSON.parse(bootstrapped.stdout).organization.uid
      bearer = (await runBerth(t, ['admin', 'token', '--audience', host], settings)).stdout.trim()
      token = (await runBerth(t, ['admin', 'token'], settings)).stdout.trim()
    }
    if (round === rounds) break
    const client = ociClient({ url: `http://${host}` }, `Bearer ${bearer}`)
    await importAdvisory(api(), root, cveOf(1, round), `a${round}-src`)
    await importAdvisory(api(), root, cveOf(2, round), 'b-src')
    for (let at = 0; at < IMAGES_PER_ROUND; at++) {
      const image = await imageOfFiles([alpineFiles(`a${round} ${at}-r0`, 'b 1-r0')])
      pushed.push({ digest: (await pushImage(client, `${root}/app`, image)).digest, round })
    }
    repo ||= await repoUid(api(), `${root}/app`)
    const readStates = () =>
      Promise.all(pushed.slice(-IMAGES_PER_ROUND).map(({ digest }) => findingsOf(digest)))
    // In the middle of reading or matching, mostly. A busy server reads nothing in the time of the other rounds.
    await sleep(Math.random() * 100)
    const states =
      round % 2 === 0
        ? await readStates()
        : await eventually(readStates, (all) => all.some(({ contentsState }) => contentsState === 'read'), {
            pollMs: 1,
          })
    server.child.kill('SIGKILL')
    unread += states.filter(({ contentsState }) => contentsState === 'pending').length
    unmatched += states.filter(
      ({ contentsState, matched }) => contentsState === 'read' && matched !== true,
    ).length
    assert.equal((await server.finished).signal, 'SIGKILL')
  }
  let findings = 0
  for (const { digest, round } of pushed) {
    const { state, packageCount } = await waitForContents(api(), repo, digest)
    assert.deepEqual([state, packageCount], ['CONTENTS_STATE_READ', 2])
    const matched = await eventually(
      () => findingsOf(digest),
      (body) => body.matched === true && Number(body.totalCount) === rounds + 1,
    )
    findings = Number(matched.totalCount)
    const ids = matched.findings.map(({ vulnerability }: { vulnerability: string }) => vulnerability)
    assert.ok(ids.includes(cveOf(1, round)), ids.join(' '))
    const { body } = await api().get(`registry/repos/${repo}/manifests/${digest}/packages`)
    assert.equal(body.packages.length, 2)
  }
  const { body } = await api().get(`registry/package_images/${root}`, { purl: 'pkg:apk/alpine/b' })
  assert.equal(Number(body.totalCount), pushed.length)
  return { images: pushed.length, findings, unread, unmatched }
}
