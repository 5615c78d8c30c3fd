import type { CompareImagePackagesResponse } from '@berth/client/berth.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { listCommand } from '../../invocation/list-command.ts'
import type { View } from '../../output/output.ts'
import { type ImageRequest, resolveReadImage, waitOption } from './contents.ts'
import { platformOption } from './image-location.ts'
import { readMatched, reportPending, toVulnerability, type Vulnerability } from './vulns.ts'

/** The differences between two images: their packages, or their vulnerabilities. */

type Change = 'added' | 'removed' | 'changed'

interface PackageDifference {
  readonly change: Change
  readonly type: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly otherVersion: string
}

const packageView: View<PackageDifference> = {
  id: ({ type, namespace, name }) => [type, namespace, name].filter((text) => text !== '').join('/'),
  columns: [
    { title: 'CHANGE', value: ({ change }) => change },
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'FROM', value: ({ version }) => version },
    { title: 'TO', value: ({ otherVersion }) => otherVersion },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace, wide: true },
  ],
  empty: 'both images contain the same packages',
}

interface VulnerabilityDifference extends Vulnerability {
  readonly change: Change
}

const vulnerabilityView: View<VulnerabilityDifference> = {
  id: ({ id, purl }) => `${id} ${purl}`,
  columns: [
    { title: 'CHANGE', value: ({ change }) => change },
    { title: 'ID', kind: 'name', value: ({ id }) => id },
    { title: 'SEVERITY', value: ({ severity }) => severity },
    { title: 'PACKAGE', value: ({ purl }) => purl.replace(/\?.*$/, '') },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'FIXED', value: ({ fixedVersion }) => fixedVersion },
    { title: 'ALIASES', value: ({ aliases }) => aliases.join(' '), wide: true },
  ],
  empty: 'both images have the same vulnerabilities',
}

type Difference = PackageDifference | VulnerabilityDifference

export const diffCommand = listCommand<Difference>({
  name: 'diff',
  summary: 'Compare the packages or the vulnerabilities of two images',
  parameters: [
    { name: 'FROM', summary: 'first image: my-org/app:1.0', required: true },
    { name: 'TO', summary: 'second image: my-org/app:1.1', required: true },
  ],
  options: [
    { flags: '--vulns', summary: 'compare vulnerabilities; both images must be in one repo' },
    platformOption,
    waitOption,
  ],
  notes:
    'With --vulns, `removed` is fixed in the second image, or its package is not in it; `changed` is of another version, state or fix, as it is in the second image. What affects neither image is left out.',
  examples: [
    'berth images diff my-org/app:1.0 my-org/app:1.1',
    'berth images diff my-org/app:1.0 my-org/app:1.1 --vulns --wait',
    'berth images diff my-org/app:1.0 my-org/app-next:1.0 --wait -o json',
  ],
  view: (invocation) => (invocation.flag('vulns') ? vulnerabilityView : packageView) as View<Difference>,
  async items(invocation) {
    const images = [
      await resolveReadImage(invocation, invocation.argument(0)),
      await resolveReadImage(invocation, invocation.argument(1)),
    ] as const
    return invocation.flag('vulns')
      ? compareVulnerabilities(invocation, images)
      : comparePackages(invocation, images)
  },
})

type ImagePair = readonly [from: ImageRequest, to: ImageRequest]

async function comparePackages(invocation: Invocation, [from, to]: ImagePair): Promise<PackageDifference[]> {
  const client = await invocation.client()
  const compared = await client.imageContents.compareImagePackages({
    ...from,
    otherUid: to.uid,
    otherReference: to.reference,
  })
  return [...packageDifferences(compared)]
}

function* packageDifferences({
  added,
  removed,
  changed,
}: CompareImagePackagesResponse): Generator<PackageDifference> {
  for (const { type, namespace, name, version } of added)
    yield { change: 'added', type, namespace, name, version: '', otherVersion: version }
  for (const { type, namespace, name, version } of removed)
    yield { change: 'removed', type, namespace, name, version, otherVersion: '' }
  for (const { type, namespace, name, versions, otherVersions } of changed)
    yield {
      change: 'changed',
      type,
      namespace,
      name,
      version: versions.join(', '),
      otherVersion: otherVersions.join(', '),
    }
}

async function compareVulnerabilities(
  invocation: Invocation,
  [from, to]: ImagePair,
): Promise<VulnerabilityDifference[]> {
  if (from.uid !== to.uid) throw new UsageError('--vulns compares images of one repo')
  const client = await invocation.client()
  const digestOf = async (image: ImageRequest) => {
    const { digest } = await client.imageContents.getImageContents(image)
    await readMatched(invocation, { uid: image.uid, digest })
    return digest
  }
  const { pending, ...compared } = await client.findings.compareImageFindings({
    uid: from.uid,
    baseDigest: await digestOf(from),
    digest: await digestOf(to),
  })
  reportPending(invocation, pending)
  return (['added', 'removed', 'changed'] as const).flatMap((change) =>
    compared[change].map((finding) => ({ change, ...toVulnerability(finding) })),
  )
}
