import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parsePurl } from '@berth/image-contents/sbom/package-urls.ts'
import { corpora, documentsIn } from '../support/advisories/advisory-documents.ts'
import { type ApiFixture, createApiFixture } from '../support/api/api-fixture.ts'
import { databases } from '../support/database/databases.ts'
import { withoutGo } from '../support/deploy/go-tools.ts'
import { type Json, setUp } from '../support/findings/image-findings.ts'
import { osvScannerProgram, scanWith, writeRecords } from '../support/findings/osv-scanner.ts'
import { type InterceptedHost, interceptHost } from '../support/http/intercepted-https.ts'
import { buildImage, realImages } from '../support/images/real-images.ts'
import { descriptor, digest, pushImage } from '../support/registry/registry.ts'
import { cleanups, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/**
 * What osv-scanner finds in the SBOMs of real images with this server in the place of api.osv.dev, against the findings of this server. The
 * advisories are those at hand. `BERTH_TEST_IMAGES` is a folder
 * for the images, which are then built once, and for `findings.json`.
 */

interface Finding {
  /** The package: type, name and version. */
  readonly key: string
  readonly ids: readonly string[]
}

interface Comparison {
  readonly image: string
  /** `api`: osv-scanner asks this server; `records`: it reads the records itself, and compares versions itself. */
  readonly source: 'api' | 'records'
  readonly both: number
  readonly onlyHere: readonly string[]
  readonly onlyScanner: readonly string[]
}

/** Prefixes of names of osv-scanner: namespaces of package URLs. */
const distributions = /^(alpine|debian|ubuntu|wolfi)\//

const DOCUMENTS_PER_IMPORT = 50

const keyOf = (name: string, version: string) => `${name.toLowerCase()} ${version}`

/** The name of a package as osv-scanner has it, from its URL. */
function packageKey(purl: string): string {
  const url = parsePurl(purl)
  assert.ok(url, purl)
  const { type = '', namespace, name = '', version } = url
  const separator = type === 'maven' ? ':' : '/'
  const hasNamespace = namespace && !['apk', 'deb', 'rpm'].includes(type)
  return keyOf(hasNamespace ? `${namespace}${separator}${name}` : name, version ?? '')
}

/** Of the languages of images, and of the distributions that osv-scanner knows. */
const ecosystems = [
  ...['npm', 'PyPI', 'Go', 'Maven', 'RubyGems', 'crates.io', 'Packagist', 'NuGet', 'Debian', 'Alpine'],
]

/** The documents in JSON. */
const parsed = (documents: readonly Buffer[]): Json[] =>
  documents.flatMap((content) => {
    try {
      return [JSON.parse(content.toString())]
    } catch {
      return []
    }
  })

const textOf = ({ key, ids }: Finding) => `${key}: ${ids.join(' ')}`

describe('findings in real images, compared with osv-scanner', { skip: withoutGo }, () => {
  const cleanup = cleanups()
  const results: Comparison[] = []
  let [folder, program] = ['', '']
  let fixture: Awaited<ReturnType<typeof setUp>>
  let cast: ApiFixture
  let osv: InterceptedHost
  /** Folder with the records of OSV. */
  let records = ''

  before(async () => {
    folder = process.env['BERTH_TEST_IMAGES'] ?? temporaryDirectory(cleanup)
    program = osvScannerProgram()
    // Before the server starts: this keeps the process busy, and its connections would end.
    for (const [image, layers] of Object.entries(realImages)) buildImage(join(folder, image), layers)
    const [database] = databases
    assert.ok(database)
    const berth = await startTestBerth(database, { contents: { pollMs: 20 }, findingsPollMs: 20 })
    cleanup.after(() => berth.stop())
    cast = createApiFixture(berth)
    cleanup.after(() => cast.grpc.close())
    fixture = await setUp(cast)
    const { root, viewer, organization } = fixture
    const { api: importer } = await organization.member('advisories.admin')
    const corpus = corpora.at(-1)
    assert.ok(corpus)
    const documents = documentsIn(corpus).map(({ path, content }) => ({
      name: path,
      content: content.toString('base64'),
    }))
    let accepted = 0
    for (let at = 0; at < documents.length; at += DOCUMENTS_PER_IMPORT) {
      const reply = await importer.post(`vulnerabilities/advisories/${root}:importDocuments`, {
        documents: documents.slice(at, at + DOCUMENTS_PER_IMPORT),
      })
      assert.equal(reply.status, 200, reply.text)
      accepted += reply.body.documents.filter((document: Json) => document.accepted).length
    }
    assert.ok(accepted > 0)
    records = join(temporaryDirectory(cleanup), 'records')
    await writeRecords(records, parsed(documentsIn(corpus, 'osv').map(({ content }) => content)), ecosystems)
    osv = await interceptHost(cleanup, 'api.osv.dev', {
      url: `${berth.url}/osv/${root}`,
      headers: { authorization: `Bearer ${viewer.api.token}` },
    })
  })
  after(() => cleanup.run())

  const push = async (image: string) => {
    const directory = join(folder, image)
    const blob = (name: string) =>
      readFileSync(join(directory, 'layout/blobs/sha256', name.replace('sha256:', '')))
    const [entry] = JSON.parse(readFileSync(join(directory, 'layout/index.json'), 'utf8')).manifests
    const manifest = blob(entry.digest)
    const { config, layers, mediaType } = JSON.parse(manifest.toString())
    const blobs = [config, ...layers].map((part: { digest: string }) => blob(part.digest))
    const { owner, name } = fixture
    await pushImage(
      owner,
      name,
      { blobs, manifest, mediaType, digest: digest(manifest), descriptor: descriptor(mediaType, manifest) },
      image,
    )
    return digest(manifest)
  }

  const ownFindings = async (repo: string, image: string): Promise<Finding[]> => {
    const found: Finding[] = []
    for (let token = ''; ; ) {
      const body = await fixture.matched(repo, `digest=${image}&page_size=1000&page_token=${token}`)
      for (const { vulnerability, aliases, purl, state } of body.findings)
        if (state !== 'STATE_NOT_AFFECTED')
          found.push({ key: packageKey(purl), ids: [vulnerability, ...(aliases ?? [])] })
      if (body.nextPageToken === '') return found
      token = body.nextPageToken
    }
  }

  const scan = async (sbom: string, source: Comparison['source']): Promise<Finding[] | undefined> => {
    const found = await scanWith(program, {
      input: ['--sbom', sbom],
      from: source === 'records' ? { records } : { env: osv.env },
    })
    return found?.map(({ name, version, ids }) => ({
      key: keyOf(name.replace(distributions, ''), version),
      ids,
    }))
  }

  for (const image of Object.keys(realImages))
    test(image, async () => {
      const digest = await push(image)
      const repo = await fixture.repoUid()
      const own = await ownFindings(repo, digest)
      const { body } = await fixture.viewer.api.get(`registry/repos/${repo}/manifests/${digest}/sbom`, {
        format: 'SBOM_FORMAT_CYCLONEDX',
      })
      const file = join(folder, `${image}.cdx.json`)
      writeFileSync(file, body.sbom)
      const isSame = (a: Finding, b: Finding) => a.key === b.key && a.ids.some((id) => b.ids.includes(id))
      for (const source of ['api', 'records'] as const) {
        const theirs = await scan(file, source)
        if (theirs === undefined) continue
        const both = own.filter((one) => theirs.some((other) => isSame(one, other)))
        results.push({
          image,
          source,
          both: both.length,
          onlyHere: own.filter((one) => !both.includes(one)).map(textOf),
          onlyScanner: theirs.filter((one) => !own.some((other) => isSame(one, other))).map(textOf),
        })
      }
    })

  test('osv-scanner and this server find the same', (t) => {
    for (const { image, source, both, onlyHere, onlyScanner } of results)
      t.diagnostic(
        `${image}, ${source}: both ${both}, only here ${onlyHere.length}, only osv-scanner ${onlyScanner.length}`,
      )
    if (process.env['BERTH_TEST_IMAGES'] !== undefined)
      writeFileSync(join(folder, 'findings.json'), JSON.stringify(results, null, 1))
    assert.deepEqual([...new Set(results.map(({ image }) => image))], Object.keys(realImages))
    assert.ok(osv.requests.some((request) => request === 'POST /v1/querybatch'))
    for (const wanted of ['api', 'records'])
      assert.ok(results.some(({ source, both }) => source === wanted && both > 0))
    assert.deepEqual(
      results.flatMap(({ image, source, onlyHere, onlyScanner }) =>
        [...onlyHere, ...onlyScanner].map((finding) => `${image}, ${source}: ${finding}`),
      ),
      [],
    )
  })
})
