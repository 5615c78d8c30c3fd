import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { findingsJob } from '@berth/server/findings/finding-job.ts'
import { acquireJob } from '@berth/server/storage/jobs/job-leases.ts'
import { pack } from 'tar-stream'
import { type Api, type ApiFixture, newName } from '../api/api-fixture.ts'
import { eventually } from '../eventually.ts'
import { layeredImage } from '../registry/layered-image.ts'
import { createRegistryFixture } from '../registry/registry.ts'
import type { TestBerth } from '../server/test-berth.ts'

/** Images with packages, and the advisories that concern them. */

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
export type Json = any

async function layerWith(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const tar = pack()
  for (const [name, content] of Object.entries(files)) tar.entry({ name }, content)
  tar.finalize()
  const parts: Buffer[] = []
  for await (const part of tar) parts.push(part as Buffer)
  return gzipSync(Buffer.concat(parts))
}

/** An image of Alpine 3.19 with apk packages, and npm packages. */
export async function imageWith(
  apk: Readonly<Record<string, string>>,
  npm: Readonly<Record<string, string>> = {},
) {
  const installed = Object.entries(apk)
    .map(([name, version]) => `P:${name}\nV:${version}\nA:x86_64\no:openssl\nL:MIT\n\n`)
    .join('')
  const files: Record<string, string> = {
    'etc/os-release': 'ID=alpine\nVERSION_ID=3.19.1\nPRETTY_NAME="Alpine Linux v3.19"\n',
    'lib/apk/db/installed': installed,
  }
  for (const [name, version] of Object.entries(npm))
    files[`app/node_modules/${name}/package.json`] = JSON.stringify({ name, version })
  return layeredImage({ layers: [{ bytes: await layerWith(files), createdBy: newName('layer') }] })
}

export const osv = (id: string, ecosystem: string, name: string, fixed: string, more: object = {}) => ({
  name: `${id}.json`,
  content: Buffer.from(
    JSON.stringify({
      schema_version: '1.6.0',
      id,
      modified: '2024-01-02T00:00:00Z',
      affected: [
        {
          package: { ecosystem, name },
          ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed }] }],
        },
      ],
      ...more,
    }),
  ).toString('base64'),
})

export const CRITICAL = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H'
export const path = 'vulnerabilities/imageFindings'

/** Reads a path with a query, as text. */
export function read(api: Api, address: string) {
  const [path = '', query = ''] = address.split('?')
  const parameters = new URLSearchParams(query)
  return api.get(
    path,
    Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)])),
  )
}

/** Does some work while packages and advisories are not matched, as on a node that is busy. */
export async function withoutMatching<T>({ berth }: TestBerth, work: () => Promise<T>): Promise<T> {
  const { db, clock } = berth.installation.store
  const lease = await eventually(() =>
    acquireJob({ db, clock, onError: (error) => assert.fail(String(error)) }, findingsJob),
  )
  try {
    return await work()
  } finally {
    await lease.release()
  }
}

export async function setUp(cast: ApiFixture) {
  const fixture = await createRegistryFixture(cast)
  const { api: importer } = await fixture.organization.member('advisories.admin')
  const viewer = await fixture.organization.member('viewer')
  const importAll = async (...documents: Json[]) => {
    const { body } = await importer.post(`vulnerabilities/advisories/${fixture.root}:importDocuments`, {
      documents,
    })
    for (const document of body.documents) assert.equal(document.accepted, true, document.reason)
  }
  const repoUid = async () => {
    const [, name] = fixture.name.split('/')
    const { body } = await read(viewer.api, `registry/repos?name=${name}`)
    return body.repos[0].uid as string
  }
  const list = async (repo: string, query: string, api: Api = viewer.api): Promise<Json> => {
    const { status, body, text } = await read(api, `${path}/${repo}?${query}`)
    assert.equal(status, 200, text)
    return body
  }
  const matched = (repo: string, query: string) =>
    eventually(
      () => list(repo, query),
      (body) => body.matched === true,
    )
  return { ...fixture, importAll, repoUid, list, matched, viewer }
}

export const line = ({ vulnerability, purl, state, severity, fixedVersion }: Json) =>
  [
    vulnerability,
    purl.split('?')[0],
    state.replace('STATE_', ''),
    severity.replace('SEVERITY_', ''),
    fixedVersion,
  ]
    .join(' ')
    .trim()

export const VEX = 'application/vnd.openvex+json'

/** An OpenVEX document. */
export function openvex(...statements: readonly object[]): Buffer {
  return Buffer.from(
    JSON.stringify({
      '@context': 'https://openvex.dev/ns/v0.2.0',
      '@id': `https://example.com/${statements.length}`,
      author: 'Example',
      timestamp: '2024-02-01T00:00:00Z',
      version: 1,
      statements,
    }),
  )
}
