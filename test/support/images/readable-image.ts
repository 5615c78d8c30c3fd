import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { Api } from '../api/api-fixture.ts'
import { eventually } from '../eventually.ts'
import {
  descriptor,
  imageFromManifest,
  type OciClient,
  pushImage,
  type TestImage,
  types,
} from '../registry/registry.ts'
import { filesOf, tarOf } from './layers.ts'

/** Images with packages, for tests of what the server reads. */

const osRelease = 'ID=alpine\nVERSION_ID=3.20.1\nPRETTY_NAME="Alpine Linux v3.20"\n'

/** The database of apk with packages, each `name version`. */
function apkDatabase(...packages: readonly string[]): string {
  return packages
    .map((text) => {
      const [name = '', version = ''] = text.split(' ')
      return `P:${name}\nV:${version}\nA:x86_64\nL:MIT\no:${name}-src\n\n`
    })
    .join('')
}

export function alpineFiles(...packages: readonly string[]): Record<string, string> {
  return { 'etc/os-release': osRelease, 'lib/apk/db/installed': apkDatabase(...packages) }
}

/** An image with one layer for each record of files. */
export async function imageOfFiles(
  layers: readonly Readonly<Record<string, Buffer | string>>[],
  { architecture = 'amd64' }: { readonly architecture?: string } = {},
): Promise<TestImage> {
  const archives = await Promise.all(layers.map(async (files) => gzipSync(await tarOf(filesOf(files)))))
  return imageOfLayers(archives, architecture)
}

export function imageOfLayers(layers: readonly Buffer[], architecture = 'amd64'): TestImage {
  const config = Buffer.from(JSON.stringify({ architecture, os: 'linux' }))
  const manifest = imageFromManifest({
    schemaVersion: 2,
    mediaType: types.image,
    config: descriptor(types.config, config),
    layers: layers.map((layer) => descriptor(types.layer, layer)),
  })
  return { blobs: [config, ...layers], ...manifest }
}

/** Pushes a document as a referrer of an image. */
export async function attach(
  owner: OciClient,
  name: string,
  subject: TestImage,
  mediaType: string,
  document: Buffer,
): Promise<TestImage> {
  const config = Buffer.from('{}')
  const manifest = imageFromManifest({
    schemaVersion: 2,
    mediaType: types.image,
    artifactType: mediaType,
    config: descriptor(types.empty, config),
    layers: [descriptor(mediaType, document)],
    subject: subject.descriptor,
  })
  return pushImage(owner, name, { blobs: [config, document], ...manifest })
}

export function spdxDocument(...packages: readonly string[]): Buffer {
  return Buffer.from(
    JSON.stringify({
      spdxVersion: 'SPDX-2.3',
      SPDXID: 'SPDXRef-DOCUMENT',
      name: 'image',
      documentNamespace: 'https://example.com/image',
      creationInfo: { created: '2026-01-01T00:00:00Z', creators: ['Tool: test-1'] },
      packages: packages.map((purl, at) => ({
        SPDXID: `SPDXRef-${at}`,
        name: /\/([^/@]+)@/.exec(purl)?.[1],
        versionInfo: purl.split('@')[1]?.split('?')[0],
        downloadLocation: 'NOASSERTION',
        externalRefs: [
          { referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl },
        ],
      })),
    }),
  )
}

/** An image that depends on package a, which contains and depends on package b. */
export function cycloneDxWithRelations(): Buffer {
  const inner = { type: 'library', 'bom-ref': 'b', name: 'b', version: '2.0.0', purl: 'pkg:npm/b@2.0.0' }
  const outer = { type: 'library', 'bom-ref': 'a', name: 'a', version: '1.0.0', purl: 'pkg:npm/a@1.0.0' }
  return Buffer.from(
    JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      metadata: {
        authors: [{ name: 'Jo' }],
        manufacturer: { name: 'Example Ltd' },
        component: { type: 'container', 'bom-ref': 'app', name: 'app' },
      },
      components: [{ ...outer, components: [inner] }],
      dependencies: [
        { ref: 'app', dependsOn: ['a', 'missing'] },
        { ref: 'a', dependsOn: ['b', 'a', 'b'] },
      ],
    }),
  )
}

/** The uid of a repo by its name, which starts with that of its organization. */
export async function repoUid(api: Api, name: string): Promise<string> {
  const [root = '', repo = ''] = name.split('/')
  const { body } = await api.get('registry/repos', { 'uidp.descendants_of': root, name: repo })
  const uid = body.items?.[0]?.uid ?? body.repos?.[0]?.uid
  assert.ok(uid, JSON.stringify(body))
  return uid
}

/** Waits until a manifest meets a condition; by default, until it is no longer waiting to be read. */
export async function waitForContents(
  api: Api,
  repo: string,
  reference: string,
  isMet: (contents: ContentsBody) => boolean = ({ state }) => state !== 'CONTENTS_STATE_PENDING',
  patience: { readonly patienceMs?: number } = {},
): Promise<ContentsBody> {
  const read = async () => {
    const { body, status } = await api.get(`registry/repos/${repo}/manifests/${reference}/contents`)
    return { body, status, reference }
  }
  const { body } = await eventually(read, ({ status, body }) => status === 200 && isMet(body), patience)
  return body
}

export interface ContentsBody {
  readonly digest: string
  readonly state: string
  readonly reason: string
  readonly source: string
  readonly packageCount: number
  readonly problems: readonly { readonly path: string; readonly reason: string }[]
  readonly readTime?: string
  readonly distribution?: object
}
