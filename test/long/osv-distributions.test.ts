import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { ImagePackage } from '@berth/image-contents/contents.ts'
import { compareVersions } from '@berth/package-versions/compare-versions.ts'
import { ecosystemRules } from '@berth/package-versions/osv/ecosystems.ts'
import { corpora, documentsIn } from '../support/advisories/advisory-documents.ts'
import { type ApiFixture, createApiFixture } from '../support/api/api-fixture.ts'
import { databases } from '../support/database/databases.ts'
import { withoutGo } from '../support/deploy/go-tools.ts'
import { type Json, setUp } from '../support/findings/image-findings.ts'
import {
  osvScannerProgram,
  type ScanOptions,
  scanWith,
  writeRecords,
} from '../support/findings/osv-scanner.ts'
import { type InterceptedHost, interceptHost } from '../support/http/intercepted-https.ts'
import { filesOf, readImage } from '../support/images/layers.ts'
import { imageOfFiles } from '../support/images/readable-image.ts'
import { pushImage } from '../support/registry/registry.ts'
import { cleanups, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/**
 * Findings in packages of distributions, of this server and of osv-scanner. The packages are those of real databases; the advisories at hand
 * concern few of them, so records in the form of each distribution are written about them. Their versions are those of other packages of
 * the database, so that versions are compared as distributions write them. For AlmaLinux, records and versions are those at hand.
 */

interface Case {
  readonly id: string
  readonly version: string
  /** As OSV names the distribution and its release. */
  readonly ecosystem: string
  /** Another release, whose records are not about the image. */
  readonly other: string
  /** Path in the image, and file in test/package-databases. */
  readonly database: readonly [path: string, file: string]
}

const dpkg = (file: string) => ['var/lib/dpkg/status', `dpkg/${file}`] as const
const apk = (file: string) => ['lib/apk/db/installed', `apk/${file}`] as const
const sqlite = ['var/lib/rpm/rpmdb.sqlite', 'rpm/go-rpmdb-cbl-mariner-2.0-24.sqlite'] as const
const ndb = ['usr/lib/sysimage/rpm/Packages.db', 'rpm/go-rpmdb-sle15-bci-Packages.db.gz'] as const

const cases: readonly Case[] = [
  {
    id: 'debian',
    version: '12',
    ecosystem: 'Debian:12',
    other: 'Debian:11',
    database: dpkg('trivy-valid.status'),
  },
  {
    id: 'ubuntu',
    version: '22.04',
    ecosystem: 'Ubuntu:22.04:LTS',
    other: 'Ubuntu:20.04:LTS',
    database: dpkg('claircore-postgresql.status'),
  },
  {
    id: 'alpine',
    version: '3.17.0',
    ecosystem: 'Alpine:v3.17',
    other: 'Alpine:v3.16',
    database: apk('syft-multiple-2-installed'),
  },
  {
    id: 'wolfi',
    version: '20230201',
    ecosystem: 'Wolfi',
    other: 'Alpine:v3.17',
    database: apk('apko-redis-operator-compat'),
  },
  { id: 'mariner', version: '2.0', ecosystem: 'Azure Linux:2', other: 'Azure Linux:3', database: sqlite },
  {
    id: 'sles',
    version: '15.3',
    ecosystem: 'SUSE:Linux Enterprise Server 15 SP3',
    other: 'SUSE:Linux Enterprise Server 15 SP5',
    database: ndb,
  },
  {
    id: 'opensuse-leap',
    version: '15.3',
    ecosystem: 'openSUSE:Leap 15.3',
    other: 'openSUSE:Leap 15.5',
    database: ndb,
  },
  // The database of another distribution: what counts is the order of rpm's versions, with epochs.
  {
    id: 'rhel',
    version: '9.4',
    ecosystem: 'Red Hat:enterprise_linux:9::baseos',
    other: 'Red Hat:enterprise_linux:8::baseos',
    database: sqlite,
  },
  { id: 'rocky', version: '9.4', ecosystem: 'Rocky Linux:9', other: 'Rocky Linux:8', database: sqlite },
  { id: 'mageia', version: '9', ecosystem: 'Mageia:9', other: 'Mageia:8', database: ndb },
  {
    id: 'openeuler',
    version: '22.03',
    ecosystem: 'openEuler:22.03-LTS-SP1',
    other: 'openEuler:20.03-LTS',
    database: sqlite,
  },
  { id: 'photon', version: '4.0', ecosystem: 'Photon OS:4.0', other: 'Photon OS:5.0', database: sqlite },
]

/** Whose versions osv-scanner 1.9 compares itself. */
const comparedByScanner = ['Alpine', 'Debian', 'Ubuntu', 'Red Hat']

/** Packages of an image that have records, and records of each. */
const PACKAGES_MAX = 60
const RANGES = 6

interface Named {
  readonly name: string
  readonly version: string
}

/** The names of a package in records of its ecosystem. */
function namesOf(
  { name, version, origin }: Pick<ImagePackage, 'name' | 'version' | 'origin'>,
  ecosystem: string,
): Named[] {
  const binary = { name, version }
  const source = origin === undefined ? binary : { name: origin.name, version: origin.version || version }
  const names = ecosystemRules(ecosystem)?.names
  if (names === 'binary') return [binary]
  return names === 'source' || source.name === name ? [source] : [binary, source]
}

/** Records about a package, with versions of others: ranges that end, and do not, with gaps; lists of versions; and another release. */
function recordsAbout(at: number, { name, version }: Named, one: Case, pool: readonly string[]): Json[] {
  const versionAt = (offset: number) => pool[(at * 7919 + offset * 104_729) % pool.length] ?? version
  const ranges = (...events: readonly object[]) => ({ ranges: [{ type: 'ECOSYSTEM', events }] })
  const start = { introduced: '0' }
  const shapes: (object | undefined)[] = [
    ranges(start),
    ranges(start, { fixed: version }),
    ranges({ introduced: version }),
    ranges(start, { last_affected: version }),
    { versions: [version] },
    { versions: [`${version}.1`] },
    ...Array.from({ length: RANGES }, (_, offset) => ranges(start, { fixed: versionAt(offset) })),
    ...Array.from({ length: RANGES }, (_, offset) =>
      ranges(start, { last_affected: versionAt(offset + RANGES) }),
    ),
  ]
  const record = (shape: object | undefined, index: number, ecosystem: string) => ({
    schema_version: '1.6.0',
    id: `TEST-${one.id}-${at}-${index}`,
    modified: '2026-01-01T00:00:00Z',
    affected: [{ package: { ecosystem, name }, ...shape }],
  })
  return [
    ...shapes.map((shape, index) => record(shape, index, one.ecosystem)),
    record(ranges(start), shapes.length, one.other),
  ]
}

describe('findings in packages of distributions, compared with osv-scanner', { skip: withoutGo }, () => {
  const cleanup = cleanups()
  let program = ''
  let cast: ApiFixture
  let url = ''
  const results: { title: string; channel: string; found: number; problems: string[] }[] = []

  before(async () => {
    program = osvScannerProgram()
    const [database] = databases
    assert.ok(database)
    const berth = await startTestBerth(database, { contents: { pollMs: 20 }, findingsPollMs: 20 })
    cleanup.after(() => berth.stop())
    url = berth.url
    cast = createApiFixture(berth)
    cleanup.after(() => cast.grpc.close())
  })
  after(() => cleanup.run())

  type Fixture = Awaited<ReturnType<typeof setUp>>

  const importRecords = async ({ importAll }: Fixture, records: readonly Json[]) => {
    for (let at = 0; at < records.length; at += 100)
      await importAll(
        ...records.slice(at, at + 100).map((record) => ({
          name: `${record.id}.json`,
          content: Buffer.from(JSON.stringify(record)).toString('base64'),
        })),
      )
  }

  const pages = async (read: (token: string) => Promise<Json>, list: string): Promise<Json[]> => {
    const all: Json[] = []
    for (let token = ''; ; ) {
      const body = await read(token)
      all.push(...body[list])
      if (body.nextPageToken === '') return all
      token = body.nextPageToken
    }
  }

  const push = async (
    { owner, name, repoUid, matched, viewer }: Fixture,
    files: Readonly<Record<string, Buffer | string>>,
  ) => {
    const { digest } = await pushImage(owner, name, await imageOfFiles([files]), 'v1')
    const repo = await repoUid()
    await matched(repo, `digest=${digest}`)
    const image = `registry/repos/${repo}/manifests/${digest}`
    const packages = await pages(
      async (token) =>
        (await viewer.api.get(`${image}/packages`, { page_size: '200', page_token: token })).body,
      'packages',
    )
    const read = packages.map(({ originName, originVersion, ...one }) => ({
      ...one,
      origin: originName === '' ? undefined : { name: originName, version: originVersion },
    }))
    return { digest, repo, image, packages: read }
  }

  /** Compares what this server finds with what osv-scanner finds: by package URLs, by names, and with its own code. */
  const compare = async (
    title: string,
    fixture: Fixture,
    { digest, repo, image, packages }: Awaited<ReturnType<typeof push>>,
    ecosystem: string,
    records: readonly Json[],
  ) => {
    const { root, viewer, matched } = fixture
    const findings = (
      await pages(
        (token) => matched(repo, `digest=${digest}&page_size=200&page_token=${encodeURIComponent(token)}`),
        'findings',
      )
    ).filter(({ state }) => state !== 'STATE_NOT_AFFECTED')
    const byPurl = new Map(packages.map((one) => [one.purl, one]))
    const folder = temporaryDirectory(cleanup)
    const sbom = join(folder, 'image.cdx.json')
    const { body } = await viewer.api.get(`${image}/sbom`, { format: 'SBOM_FORMAT_CYCLONEDX' })
    writeFileSync(sbom, body.sbom)
    const named = new Map(
      packages.flatMap((one) => namesOf(one, ecosystem).map((its) => [`${its.name} ${its.version}`, its])),
    )
    const list = join(folder, 'packages.json')
    writeFileSync(
      list,
      JSON.stringify({
        results: [{ packages: [...named.values()].map((one) => ({ package: { ...one, ecosystem } })) }],
      }),
    )
    await writeRecords(folder, records, [ecosystem])
    const osv: InterceptedHost = await interceptHost(cleanup, 'api.osv.dev', {
      url: `${url}/osv/${root}`,
      headers: { authorization: `Bearer ${viewer.api.token}` },
    })
    const server = { env: osv.env }
    const byName = ['--lockfile', `osv-scanner:${list}`]
    const channels: readonly (readonly [channel: string, options: ScanOptions])[] = [
      ['package URLs', { input: ['--sbom', sbom], from: server }],
      ['names', { input: byName, from: server }],
      ...(comparedByScanner.includes(ecosystem.split(':')[0] ?? '')
        ? [['records', { input: byName, from: { records: folder } }] as const]
        : []),
    ]
    const wanted = new Set(records.map(({ id }) => id))
    for (const [channel, options] of channels) {
      const isByPurl = channel === 'package URLs'
      const scanned = await scanWith(program, options)
      assert.ok(scanned, channel)
      const theirs = new Set(
        scanned.flatMap(({ name, version, ids }) =>
          ids
            .filter((id) => wanted.has(id))
            .map((id) => `${isByPurl ? name.slice(name.indexOf('/') + 1) : `${name} ${version}`}: ${id}`),
        ),
      )
      const own = new Set(
        findings.flatMap(({ purl, vulnerability, aliases }) => {
          const one = byPurl.get(purl)
          const ids = [vulnerability, ...aliases].filter((id) => wanted.has(id))
          const names = isByPurl
            ? [one.name]
            : namesOf(one, ecosystem)
                .filter((its) => ids.some((id) => recordNames.get(id)?.includes(its.name)))
                .map((its) => `${its.name} ${its.version}`)
          return names.flatMap((name) => ids.map((id) => `${name}: ${id}`))
        }),
      )
      results.push({
        title,
        channel,
        found: own.size,
        problems: [
          ...[...own].filter((key) => !theirs.has(key)).map((key) => `only here: ${key}`),
          ...[...theirs].filter((key) => !own.has(key)).map((key) => `only osv-scanner: ${key}`),
        ],
      })
    }
  }
  const recordNames = new Map<string, readonly string[]>()
  const remember = (records: readonly Json[]) => {
    for (const { id, affected } of records)
      recordNames.set(
        id,
        affected.map(({ package: its }: Json) => its.name),
      )
  }

  for (const one of cases)
    test(one.ecosystem, async () => {
      const fixture = await setUp(cast)
      const [path, file] = one.database
      const content = readFileSync(join('test/package-databases', file))
      const files = {
        'etc/os-release': `ID=${one.id}\nVERSION_ID=${one.version}\n`,
        [path]: file.endsWith('.gz') ? gunzipSync(content) : content,
      }
      const { packages } = await readImage([filesOf(files)])
      const named = new Map(
        packages.flatMap((each) => namesOf(each, one.ecosystem).map((its) => [its.name, its] as const)),
      )
      const pool = [...new Set([...named.values()].map(({ version }) => version))]
      const records = [...named.values()]
        .slice(0, PACKAGES_MAX)
        .flatMap((its, at) => recordsAbout(at, its, one, pool))
      remember(records)
      await importRecords(fixture, records)
      // After the records: a package that is matched has been compared with all of them.
      await compare(one.ecosystem, fixture, await push(fixture, files), one.ecosystem, records)
    })

  for (const release of ['8', '9', '10'])
    test(`AlmaLinux:${release}, with its own records`, async (t) => {
      const corpus = corpora.at(-1)
      assert.ok(corpus)
      const ecosystem = `AlmaLinux:${release}`
      const records = documentsIn(corpus, 'osv').flatMap(({ content }): Json[] => {
        try {
          const record = JSON.parse(content.toString())
          return record.affected?.some(({ package: its }: Json) => its?.ecosystem === ecosystem)
            ? [record]
            : []
        } catch {
          return []
        }
      })
      if (records.length === 0) return t.skip('no such records at hand')
      remember(records)
      const fixed = new Map<string, string>()
      for (const { affected } of records)
        for (const { package: its, ranges } of affected) {
          const version = ranges[0].events.at(-1).fixed
          const before = fixed.get(its.name)
          if (
            its.ecosystem === ecosystem &&
            (before === undefined || (compareVersions('rpm', before, version) ?? 0) < 0)
          )
            fixed.set(its.name, version)
        }
      for (const isFixed of [true, false]) {
        const fixture = await setUp(cast)
        await importRecords(fixture, records)
        const rows = [...fixed].map(([name, version]) => {
          const installed = isFixed
            ? version
            : version.replace(/(?:\d+:)?[^-]+/, (text) => text.replace(/[^:]+$/, '0'))
          const [, epoch = '0', rest = installed] = /^(\d+):(.*)$/.exec(installed) ?? []
          return `${[name, rest, 0, 0, 'AlmaLinux', epoch, 0, 'x86_64', epoch, `${name}-${rest}.src.rpm`].join('\t')}\n`
        })
        const image = await push(fixture, {
          'etc/os-release': `ID=almalinux\nVERSION_ID=${release}.2\n`,
          'var/lib/rpmmanifest/container-manifest-2': rows.join(''),
        })
        assert.equal(image.packages.length, fixed.size)
        await compare(`${ecosystem}, ${isFixed ? 'fixed' : 'older'}`, fixture, image, ecosystem, records)
      }
    })

  test('osv-scanner and this server find the same', (t) => {
    for (const { title, channel, found, problems } of results)
      t.diagnostic(`${title}, by ${channel}: ${found} findings, ${problems.length} differ`)
    for (const { title, found } of results) assert.equal(found > 0, !title.endsWith(', fixed'), title)
    assert.deepEqual(
      results.flatMap(({ title, channel, problems }) =>
        problems.slice(0, 10).map((problem) => `${title}, by ${channel}: ${problem}`),
      ),
      [],
    )
  })
})
