import { setTimeout as pause } from 'node:timers/promises'
import type { Bench, Result } from '../bench.ts'
import type { Child } from '../child.ts'
import type { BerthReady } from '../children/berth.ts'
import { ORGANIZATION } from '../dataset.ts'
import { goals } from '../goals.ts'
import { createResource, type HttpClient, httpClient, request } from '../http-load.ts'
import { registryClient } from '../registry/client.ts'
import { blobOf, descriptorOf, imageOf, type Manifest, newBlobs } from '../registry/content.ts'
import { type Registry, registrySide, registryToken } from '../registry/registries.ts'
import { inTurn, type Measured } from '../rounds.ts'

/** What policies at pull cost: a server with three of them against one without, for an image with as many vulnerabilities. */

const REPO = 'bench/speed'
const CONNECTIONS = 16
const FINDINGS = 200
const SPDX = 'application/spdx+json'
const LAYER_BYTES = 1000
const POLL_MS = 100

/** All of them allow the image, and need different facts. */
const policies = [
  { policy: 'highest-severity', parameters: { severity: 'critical' } },
  { policy: 'maximum-age', parameters: { days: 3650 } },
  { policy: 'tag-pattern', parameters: { patterns: ['*'] } },
]

export async function measurePolicies(bench: Bench): Promise<Result[]> {
  const place = await bench.dataSet({ groups: 1000, shape: 'tree' })
  const plain = await bench.startBerth(bench.copyOf(place))
  const bound = await bench.startBerth(bench.copyOf(place))
  const content = createContent()
  const { image } = content
  for (const berth of [plain, bound]) await push(berth, content)
  for (const binding of policies)
    await createResource(bound.ready.port, bound.ready.token, `/policies/v1/bindings/${ORGANIZATION}`, {
      mode: 'POLICY_MODE_ENFORCED',
      ...binding,
    })
  const registries = await Promise.all([
    registryOf('three policies', bound),
    registryOf('no policy', plain),
  ] satisfies Promise<Registry>[])
  const results: Result[] = []
  for (const [how, reference] of [
    ['by tag', 'latest'],
    ['by digest', image.digest],
  ] as const) {
    const title = `manifest ${how} with three policies, to one without`
    const [ours, theirs] = (await inTurn(
      bench,
      registries.map((registry) =>
        registrySide(registry, {
          ...{ title: `manifest ${how}`, repo: REPO, connections: CONNECTIONS },
          flow: (client) => client.skim(`manifests/${reference}`),
        }),
      ),
    )) as [Measured, Measured]
    const value = ours.cpuUs / theirs.cpuUs
    results.push({ work: 'policies', title, value, unit: 'factor', goal: goals.policies, ours, theirs })
  }
  return results
}

type Berth = Child & { readonly ready: BerthReady }

async function registryOf(name: string, child: Berth): Promise<Registry> {
  const { port, token } = child.ready
  return { name, child, port, authorization: await registryToken(port, token, [REPO]) }
}

type Content = ReturnType<typeof createContent>

/** An image, and its SBOM. */
function createContent() {
  const config = blobOf(
    Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', created: new Date().toISOString() })),
  )
  const layer = newBlobs(LAYER_BYTES)()
  const image = imageOf(config, [layer])
  const packages = Array.from({ length: FINDINGS }, (_, at) => `package-${at}`)
  const sbom = blobOf(Buffer.from(JSON.stringify(spdxOf(packages))))
  const referrer = imageOf(config, [], {
    artifactType: SPDX,
    layers: [descriptorOf(SPDX, sbom)],
    subject: descriptorOf(image.mediaType, { digest: image.digest, size: image.bytes.length }),
  })
  return { image, packages, referrer, blobs: [config, layer, sbom] }
}

/** Pushes the image, and imports an advisory for each of its packages; returns when they are matched. */
async function push(berth: Berth, { image, packages, referrer, blobs }: Content): Promise<void> {
  const { port, token } = berth.ready
  const authorization = await registryToken(port, token, [REPO])
  const http = await httpClient(port)
  try {
    const registry = registryClient(http, REPO, authorization)
    for (const blob of blobs) await registry.pushAtOnce(blob)
    await registry.putManifest(image, 'latest')
    await registry.putManifest(referrer, referrer.digest)
    await importAdvisories(berth, packages)
    await waitForFindings(berth, http, image)
  } finally {
    http.close()
  }
}

function spdxOf(packages: readonly string[]) {
  return {
    spdxVersion: 'SPDX-2.3',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: 'image',
    documentNamespace: 'https://example.com/image',
    creationInfo: { created: '2026-01-01T00:00:00Z', creators: ['Tool: bench-1'] },
    packages: packages.map((name) => ({
      SPDXID: `SPDXRef-${name}`,
      name,
      versionInfo: '1.0.0',
      downloadLocation: 'NOASSERTION',
      externalRefs: [
        {
          referenceCategory: 'PACKAGE-MANAGER',
          referenceType: 'purl',
          referenceLocator: `pkg:npm/${name}@1.0.0`,
        },
      ],
    })),
  }
}

async function importAdvisories({ ready: { port, token } }: Berth, packages: readonly string[]) {
  const documents = packages.map((name, at) => ({
    name: `EX-${at}.json`,
    content: Buffer.from(
      JSON.stringify({
        id: `EX-${at}`,
        modified: '2026-01-02T03:04:05Z',
        affected: [
          {
            package: { ecosystem: 'npm', name },
            ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '2.0.0' }] }],
          },
        ],
        database_specific: { severity: 'LOW' },
      }),
    ).toString('base64'),
  }))
  await createResource(port, token, `/vulnerabilities/v2beta1/advisories/${ORGANIZATION}:importDocuments`, {
    documents,
  })
}

async function waitForFindings({ ready: { token } }: Berth, http: HttpClient, { digest }: Manifest) {
  const read = async (path: string) => {
    const { status, body } = await http.send(request('GET', path, { token }))
    if (status !== 200) throw new Error(`GET ${path} was answered ${status}: ${body}`)
    return JSON.parse(body)
  }
  const { repos } = await read(`/registry/v2beta1/repos?uidp.descendants_of=${ORGANIZATION}`)
  for (;;) {
    const found = await read(
      `/vulnerabilities/v2beta1/imageFindings/${repos[0].uid}?digest=${digest}&page_size=1`,
    )
    if (found.matched === true && Number(found.totalCount) === FINDINGS) return
    await pause(POLL_MS)
  }
}
