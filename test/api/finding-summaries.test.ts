import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { eventually } from '../support/eventually.ts'
import {
  CRITICAL,
  imageWith,
  type Json,
  line,
  openvex,
  osv,
  path,
  read,
  setUp,
  VEX,
} from '../support/findings/image-findings.ts'
import { attach, spdxDocument } from '../support/images/readable-image.ts'
import {
  imageFromManifest,
  pushImage,
  putManifest,
  type TestImage,
  types,
} from '../support/registry/registry.ts'
import { imageJobs } from '../support/server/test-berth.ts'

/** Counts of vulnerabilities by group, repo and tag, orders of findings, and VEX documents that are attached to images. */

const summaries = 'vulnerabilities/findingSummaries'

const countsOf = ({ counts }: Json) =>
  counts.map(({ state, severity, count }: Json) =>
    [state.replace('STATE_', ''), severity.replace('SEVERITY_', ''), count].join(' '),
  )

const notAffected = (name: string, more: object = {}) => ({
  vulnerability: { name },
  status: 'not_affected',
  justification: 'vulnerable_code_not_in_execute_path',
  ...more,
})

onEveryDatabase(
  'summaries of findings',
  (cast) => {
    const prepare = async () => {
      const fixture = await setUp(cast())
      const get = async (address: string): Promise<Json> => {
        const { status, body, text } = await read(fixture.viewer.api, address)
        assert.equal(status, 200, text)
        return body
      }
      const repo = async (name: string): Promise<string> =>
        (await get(`registry/repos?name=${name.split('/')[1]}`)).repos[0].uid
      return { ...fixture, get, repo }
    }
    const npm = (id: string, name: string, fixed: string, more: object = {}) =>
      osv(id, 'npm', name, fixed, more)
    const critical = { severity: [{ type: 'CVSS_V3', score: CRITICAL }] }

    test('groups and repos count each vulnerability of tagged images once', async () => {
      const { importAll, owner, name, root, get, repo, matched, viewer } = await prepare()
      await importAll(
        npm('CVE-2024-0001', 'left-pad', '2.0.0', critical),
        npm('CVE-2024-0002', 'other', '2.0.0'),
      )
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.5.0' }), 'v2')
      const untagged = await pushImage(owner, name, await imageWith({}, { other: '1.0.0' }))
      await pushImage(owner, `${name}-2`, await imageWith({}, { 'left-pad': '1.0.0', other: '1.0.0' }), 'v1')
      const [one, two] = [await repo(name), await repo(`${name}-2`)]
      for (const [uid, query] of [
        [one, 'tag=v1'],
        [one, 'tag=v2'],
        [one, `digest=${untagged.digest}`],
        [two, 'tag=v1'],
      ] as const)
        await matched(uid, query)
      const of = async (uid: string) => {
        const { imageCount, unreadImageCount, matched, ...rest } = await get(`${summaries}/${uid}`)
        return { imageCount, unreadImageCount, matched, counts: countsOf(rest) }
      }
      const whole = { unreadImageCount: '0', matched: true }
      assert.deepEqual(await of(one), { ...whole, imageCount: '2', counts: ['AFFECTED CRITICAL 1'] })
      assert.deepEqual(await of(two), {
        ...whole,
        imageCount: '1',
        counts: ['AFFECTED CRITICAL 1', 'AFFECTED UNKNOWN 1'],
      })
      assert.deepEqual(await of(root), {
        ...whole,
        imageCount: '3',
        counts: ['AFFECTED CRITICAL 1', 'AFFECTED UNKNOWN 1'],
      })
      // An image of a tagged index counts.
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: [untagged.descriptor],
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      assert.deepEqual((await of(one)).imageCount, '3')

      const listed = await get(`${summaries}/${root}:repos?page_size=1`)
      assert.equal(listed.findingSummaries.length, 1)
      const rest = await get(`${summaries}/${root}:repos?page_token=${listed.nextPageToken}`)
      assert.deepEqual(
        [...listed.findingSummaries, ...rest.findingSummaries].map(({ uid }: Json) => uid),
        [one, two].sort(),
      )
      assert.equal(rest.nextPageToken, '')
      const only = async (uids: readonly string[]) =>
        (
          await get(`${summaries}/${root}:repos?${uids.map((uid) => `repo_uids=${uid}`).join('&')}`)
        ).findingSummaries.map(({ uid }: Json) => uid)
      assert.deepEqual(await only([two]), [two])
      // Outside of the group, or without a repo.
      assert.deepEqual(await only([two, `${'0'.repeat(40)}/0123456789abcdef`]), [two])
      for (const query of [
        'repo_uids=x',
        Array.from({ length: limits.findingSummariesMax + 1 }, () => `repo_uids=${one}`).join('&'),
      ])
        assert.equal((await read(viewer.api, `${summaries}/${root}:repos?${query}`)).body.code, 3)
    })

    test('tags show in which of them a vulnerability is fixed, in pages', async () => {
      const { importAll, owner, name, get, repo, matched, viewer } = await prepare()
      await importAll(npm('GHSA-2222-3333-4444', 'left-pad', '2.0.0', { aliases: ['CVE-2024-0001'] }))
      for (const [tag, version] of [
        ['v1', '1.0.0'],
        ['v2', '2.0.0'],
        ['v3', '2.1.0'],
      ] as const)
        await pushImage(owner, name, await imageWith({}, { 'left-pad': version }), tag)
      const uid = await repo(name)
      for (const tag of ['v1', 'v2', 'v3']) await matched(uid, `tag=${tag}`)
      const shown = ({ tagFindingSummaries }: Json) =>
        tagFindingSummaries.map(({ tag, contentsState, matched, findings, ...rest }: Json) =>
          [tag, contentsState, matched, ...countsOf(rest), ...findings.map(line)].join(', '),
        )
      const first = await get(`${summaries}/${uid}:tags?vulnerability=GHSA-2222-3333-4444&page_size=2`)
      assert.deepEqual(shown(first), [
        'v1, read, true, AFFECTED UNKNOWN 1, CVE-2024-0001 pkg:npm/left-pad@1.0.0 AFFECTED UNKNOWN 2.0.0',
        'v2, read, true',
      ])
      const second = await get(
        `${summaries}/${uid}:tags?vulnerability=GHSA-2222-3333-4444&page_size=2&page_token=${first.nextPageToken}`,
      )
      assert.deepEqual(shown(second), ['v3, read, true'])
      assert.equal(second.nextPageToken, '')
      assert.deepEqual(shown(await get(`${summaries}/${uid}:tags`))[0], 'v1, read, true, AFFECTED UNKNOWN 1')
      assert.ok(Date.parse(first.tagFindingSummaries[0].updateTime) > 0)
      assert.deepEqual(shown(await get(`${summaries}/${uid}:tags?tags=v3&tags=v2&tags=none`)), [
        'v2, read, true',
        'v3, read, true',
      ])
      const many = Array.from({ length: limits.findingSummariesMax + 1 }, (_, at) => `tags=v${at}`).join('&')
      assert.equal((await read(viewer.api, `${summaries}/${uid}:tags?${many}`)).body.code, 3)
    })

    test('findings are ordered by severity in pages, and those of one platform are selected', async () => {
      const { importAll, owner, name, get, repo, matched } = await prepare()
      const HIGH = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H'
      await importAll(
        npm('CVE-2024-0001', 'a', '2.0.0'),
        npm('CVE-2024-0002', 'a', '2.0.0', { severity: [{ type: 'CVSS_V3', score: HIGH }] }),
        npm('CVE-2024-0003', 'a', '2.0.0', critical),
        npm('CVE-2024-0004', 'b', '2.0.0', critical),
      )
      const amd = await pushImage(owner, name, await imageWith({}, { a: '1.0.0' }))
      const arm = await pushImage(owner, name, await imageWith({}, { b: '1.0.0' }))
      const entry = ({ descriptor }: TestImage, architecture: string) => ({
        ...descriptor,
        platform: { os: 'linux', architecture },
      })
      const index = imageFromManifest({
        schemaVersion: 2,
        mediaType: types.index,
        manifests: [entry(amd, 'amd64'), entry(arm, 'arm64')],
      })
      assert.equal((await putManifest(owner, name, 'multi', index)).status, 201)
      const uid = await repo(name)
      await matched(uid, 'tag=multi')
      const ids = async (query: string) => {
        const found: string[] = []
        for (let token = ''; ; ) {
          const page = await get(`${path}/${uid}?tag=multi&page_size=1&${query}&page_token=${token}`)
          found.push(...page.findings.map(({ vulnerability }: Json) => vulnerability))
          if (page.nextPageToken === '') return found
          token = page.nextPageToken
        }
      }
      assert.deepEqual(await ids('order_by=severity'), [
        'CVE-2024-0003',
        'CVE-2024-0004',
        'CVE-2024-0002',
        'CVE-2024-0001',
      ])
      assert.deepEqual(await ids('order_by=vulnerability&platform=linux/amd64'), [
        'CVE-2024-0001',
        'CVE-2024-0002',
        'CVE-2024-0003',
      ])
      assert.deepEqual(await ids('platform=linux/arm64'), ['CVE-2024-0004'])
    })

    test('a VEX document counts for the image that it is attached to, in every response', async () => {
      const { importAll, owner, name, root, get, repo, matched } = await prepare()
      await importAll(
        npm('GHSA-2222-3333-4444', 'left-pad', '2.0.0', { aliases: ['CVE-2024-0001'] }),
        npm('CVE-2024-0002', 'left-pad', '2.0.0'),
        npm('CVE-2024-0003', 'other', '2.0.0'),
      )
      const packages = { 'left-pad': '1.0.0', other: '1.0.0' }
      const image = await pushImage(owner, name, await imageWith({}, packages), 'v1')
      const without = await pushImage(owner, name, await imageWith({}, packages), 'v2')
      const uid = await repo(name)
      for (const tag of ['v1', 'v2']) await matched(uid, `tag=${tag}`)
      await attach(
        owner,
        name,
        image,
        VEX,
        openvex(
          // By an alias, for the whole image.
          notAffected('GHSA-2222-3333-4444', { products: [{ '@id': `pkg:oci/app@${image.digest}` }] }),
          {
            vulnerability: { name: 'CVE-2024-0002' },
            status: 'fixed',
            products: [{ '@id': 'pkg:oci/app', subcomponents: [{ '@id': 'pkg:npm/left-pad@1.0.0' }] }],
          },
          // About another version, and about another image.
          notAffected('CVE-2024-0003', { products: [{ '@id': 'pkg:npm/other@9.0.0' }] }),
          notAffected('CVE-2024-0003', { products: [{ '@id': `pkg:oci/app@sha256:${'0'.repeat(64)}` }] }),
        ),
      )
      const statesOf = async (tag: string): Promise<Record<string, string>> => {
        const { findings } = await get(`${path}/${uid}?tag=${tag}`)
        return Object.fromEntries(
          findings.map(({ vulnerability, state, justification }: Json) => [
            vulnerability,
            [state.replace('STATE_', ''), justification].join(' ').trim(),
          ]),
        )
      }
      await eventually(
        () => statesOf('v1'),
        (states) => states['CVE-2024-0001']?.startsWith('NOT_AFFECTED') === true,
      )
      assert.deepEqual(await statesOf('v1'), {
        'CVE-2024-0001': 'NOT_AFFECTED vulnerable code not in execution path',
        'CVE-2024-0002': 'NOT_AFFECTED fixed in this image',
        'CVE-2024-0003': 'AFFECTED',
      })
      assert.deepEqual(Object.values(await statesOf('v2')), ['AFFECTED', 'AFFECTED', 'AFFECTED'])
      const filtered = await get(`${path}/${uid}?tag=v1&states=STATE_AFFECTED`)
      assert.deepEqual(
        [filtered.totalCount, filtered.findings.map(({ vulnerability }: Json) => vulnerability)],
        ['1', ['CVE-2024-0003']],
      )
      assert.deepEqual(countsOf(filtered), ['AFFECTED UNKNOWN 1', 'NOT_AFFECTED UNKNOWN 2'])

      const affected = async (query: string) =>
        (await get(`vulnerabilities/affectedImages/${root}?vulnerability=CVE-2024-0001${query}`))
          .affectedImages
      assert.deepEqual(
        (await affected('&states=STATE_AFFECTED')).map(({ digest }: Json) => digest),
        [without.digest],
      )
      const [{ digest, finding }] = await affected('&states=STATE_NOT_AFFECTED')
      assert.deepEqual(
        [digest, finding.justification],
        [image.digest, 'vulnerable code not in execution path'],
      )
      assert.equal((await affected('')).length, 2)

      // The repo has an image that is affected; without it, none is.
      const summary = async () => countsOf(await get(`${summaries}/${uid}`))
      assert.deepEqual(await summary(), ['AFFECTED UNKNOWN 3'])
      const deleted = await owner.request('DELETE', `${name}/manifests/${without.digest}`)
      assert.equal(deleted.status, 202)
      assert.deepEqual(await summary(), ['AFFECTED UNKNOWN 1', 'NOT_AFFECTED UNKNOWN 2'])
    })

    test('a VEX document of an index counts for its images, and an SBOM of an index for none', async () => {
      const { importAll, owner, name, get, repo, matched } = await prepare()
      await importAll(
        npm('CVE-2024-0001', 'left-pad', '2.0.0'),
        npm('CVE-2024-0002', 'left-pad', '2.0.0'),
        npm('CVE-2024-0003', 'left-pad', '2.0.0'),
      )
      const images = [
        await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' })),
        await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' })),
      ]
      const index = {
        blobs: [],
        ...imageFromManifest({
          schemaVersion: 2,
          mediaType: types.index,
          manifests: images.map(({ descriptor }) => descriptor),
        }),
      }
      await pushImage(owner, name, index, 'multi')
      const uid = await repo(name)
      const [first, second] = images.map(({ digest }) => `digest=${digest}`)
      for (const image of [first, second]) await matched(uid, image ?? '')
      await attach(owner, name, index, 'application/spdx+json', spdxDocument('pkg:npm/other@1.0.0'))
      const vex = await attach(
        owner,
        name,
        index,
        VEX,
        openvex(
          notAffected('CVE-2024-0001', { products: [{ '@id': `pkg:oci/app@${index.digest}` }] }),
          notAffected('CVE-2024-0002', { products: [{ '@id': `pkg:oci/app@${images[0]?.digest}` }] }),
        ),
      )
      const statesOf = async (image: string) => {
        const { findings } = await get(`${path}/${uid}?${image}`)
        return findings.map(({ state }: Json) => state.replace('STATE_', ''))
      }
      const become = async (image: string | undefined, ...expected: string[]) =>
        eventually(
          () => statesOf(image ?? ''),
          (states) => states.join() === expected.join(),
        )
      await become(first, 'NOT_AFFECTED', 'NOT_AFFECTED', 'AFFECTED')
      await become(second, 'NOT_AFFECTED', 'AFFECTED', 'AFFECTED')
      await become('tag=multi', 'NOT_AFFECTED', 'AFFECTED', 'AFFECTED')
      assert.equal((await owner.request('DELETE', `${name}/manifests/${vex.digest}`)).status, 202)
      for (const image of [first, second]) await become(image, 'AFFECTED', 'AFFECTED', 'AFFECTED')
    })

    test('an attached VEX document that cannot be read is a problem of the image, and no more', async () => {
      const { importAll, owner, name, get, repo, matched } = await prepare()
      await importAll(npm('CVE-2024-0001', 'left-pad', '2.0.0'))
      const image = await pushImage(owner, name, await imageWith({}, { 'left-pad': '1.0.0' }), 'v1')
      const uid = await repo(name)
      await matched(uid, 'tag=v1')
      for (const document of ['{', '{"statements":[{"status":"not_affected"}]}', '[]'])
        await attach(owner, name, image, VEX, Buffer.from(document))
      const contents = await eventually(
        () => get(`registry/repos/${uid}/manifests/v1/contents`),
        ({ problems, state }) => state === 'CONTENTS_STATE_READ' && problems.length === 3,
      )
      for (const { reason } of contents.problems)
        assert.match(reason, /the attached document sha256:\w+ is invalid/)
      assert.equal((await get(`${path}/${uid}?tag=v1`)).findings[0].state, 'STATE_AFFECTED')
    })

    test('reads need both capabilities, and invalid values are named', async () => {
      const { owner, name, root, repo, viewer, organization } = await prepare()
      await pushImage(owner, name, await imageWith({}), 'v1')
      const uid = await repo(name)
      const outsider = await organization.member('advisories.admin')
      for (const address of [
        `${summaries}/${root}`,
        `${summaries}/${root}:repos`,
        `${summaries}/${uid}:tags`,
      ])
        assertError(await read(outsider.api, `${address}?`), permissionDeniedError)
      const get = (address: string) => read(viewer.api, address)
      assertError(await get(`${summaries}/${uid}:tags?page_size=-1`), invalidFieldError('page_size'))
      assertError(await get(`${summaries}/${uid}:tags?page_token=x`), invalidFieldError('page_token'))
      assertError(await get(`${path}/${uid}?tag=v1&order_by=exploited`), invalidFieldError('order_by'))
      assertError(await get(`${path}/${uid}?tag=v1&platform=x`), invalidFieldError('platform'))
      assert.equal((await get(`${summaries}/${root}:tags?`)).status, 404)
    })
  },
  imageJobs,
)
