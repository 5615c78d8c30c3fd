import type { AffectedImage, Finding, ListImageFindingsResponse, ReportFormat } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../invocation/list-command.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import { enumName } from '../../output/enum-names.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { resolveReadImage, storedImageParameter, waitOption } from './contents.ts'

/** Vulnerabilities of images. */

/** A finding as the command prints it. */
interface Vulnerability {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purl: string
  readonly version: string
  readonly state: string
  readonly severity: string
  readonly score: number | undefined
  readonly fixedVersion: string
  readonly justification: string
  readonly advisory: string
}

/** The highest first. */
const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown']

function toVulnerability(finding: Finding): Vulnerability {
  return {
    id: finding.vulnerability,
    aliases: finding.aliases,
    purl: finding.purl,
    version: finding.version,
    state: enumName(finding.state, 'STATE_'),
    severity: enumName(finding.severity, 'SEVERITY_'),
    score: typeof finding.score === 'number' ? finding.score : undefined,
    fixedVersion: finding.fixedVersion,
    justification: finding.justification,
    advisory: finding.advisoryUid,
  }
}

const vulnerabilityView: View<Vulnerability> = {
  id: ({ id }) => id,
  columns: [
    { title: 'ID', kind: 'name', value: ({ id }) => id },
    { title: 'SEVERITY', value: ({ severity }) => severity },
    { title: 'PACKAGE', value: ({ purl }) => purl.replace(/\?.*$/, '') },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'FIXED', value: ({ fixedVersion }) => fixedVersion },
    { title: 'SCORE', value: ({ score }) => (score === undefined ? '' : String(score)), wide: true },
    { title: 'ALIASES', value: ({ aliases }) => aliases.join(' '), wide: true },
    { title: 'JUSTIFICATION', value: ({ justification }) => justification, wide: true },
  ],
  empty: 'no known vulnerabilities in what is covered',
}

const vulnerabilityList: ListDeclaration<Vulnerability> = {
  name: 'vulns',
  summary: 'List the vulnerabilities of an image',
  parameters: [storedImageParameter],
  options: [
    {
      flags: '--fail-on <severity>',
      summary: 'end with exit code 1 if the image is affected by one of this severity or a higher one',
      choices: severities.slice(0, -2),
    },
    { flags: '--all', summary: 'also those that do not affect the image' },
    { flags: '--platform <platform>', summary: 'image of an index, such as linux/arm64; default: all' },
    waitOption,
  ],
  notes:
    'The packages of the image are matched with the advisories of the organization. What is not covered, and how old the advisories are, is reported on standard error.\n-o sarif prints SARIF 2.1.0 for code scanning, -o cyclonedx CycloneDX 1.6 with all packages. Both contain what does not affect the image, marked as such;\nof an index they are about one image: that for linux/amd64, or --platform.',
  examples: [
    'berth images vulns my-org/app:1.0',
    'berth images vulns my-org/app:1.0 --fail-on high --wait',
    'berth images vulns my-org/app:1.0 --all -o json',
    'berth images vulns my-org/app:1.0 --wait -o sarif > app.sarif',
  ],
  view: () => vulnerabilityView,
  items: listVulnerabilities,
}

/** States that `--all` adds. */
const irrelevant = ['not-affected']

async function listVulnerabilities(invocation: Invocation): Promise<readonly Vulnerability[]> {
  const client = await invocation.client()
  const { uid, reference } = await resolveReadImage(invocation, invocation.argument(0))
  const image = {
    uid,
    ...(reference.includes(':') ? { digest: reference } : { tag: reference }),
    platform: invocation.option('platform'),
  }
  reportCoverage(invocation, await readMatched(invocation, image))
  const found: Vulnerability[] = []
  for await (const finding of client.findings.all(image)) found.push(toVulnerability(finding))
  return found
    .filter(({ state }) => invocation.flag('all') || !irrelevant.includes(state))
    .sort((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity) || (a.id < b.id ? -1 : 1))
}

const POLL_MS = 300
const WAIT_MS_MAX = 60_000

/** Waits, with `--wait`, until the packages of the image are matched. */
async function readMatched(
  invocation: Invocation,
  image: { readonly uid: string; readonly digest?: string; readonly tag?: string },
): Promise<ListImageFindingsResponse> {
  const client = await invocation.client()
  const end = Date.now() + WAIT_MS_MAX
  for (;;) {
    const page = await client.findings.list({ ...image, pageSize: 1 })
    if (page.matched || page.contentsState !== 'read' || !invocation.flag('wait') || Date.now() > end)
      return page
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

function reportCoverage(
  { output }: Invocation,
  { contentsState, matched, coverage, advisoriesTime }: ListImageFindingsResponse,
): void {
  if (contentsState !== 'read') output.notice(`the contents of the image are not known: ${contentsState}`)
  else if (!matched) output.notice('packages of the image are not matched with advisories yet')
  for (const { ecosystem, packageCount, covered } of coverage)
    if (!covered)
      output.notice(`not covered: ${packageCount} packages of ${ecosystem}, no advisories are imported`)
  output.notice(
    advisoriesTime === undefined ? 'no advisories are imported' : `advisories as of ${advisoriesTime}`,
  )
}

const list = listCommand(vulnerabilityList)

/** Formats for other tools, which the server writes. */
const reportFormats = new Map<string, ReportFormat>([
  ['sarif', 'REPORT_FORMAT_SARIF'],
  ['cyclonedx', 'REPORT_FORMAT_CYCLONEDX'],
])

export const vulnsCommand: CommandDeclaration = {
  ...list,
  formats: [...reportFormats.keys()],
  async run(invocation) {
    let found: readonly Vulnerability[] = []
    const items = async () => {
      found = await listVulnerabilities(invocation)
      return found
    }
    // Of the formats of all commands, nothing is printed then.
    await printList(invocation, { ...vulnerabilityList, items })
    const format = reportFormats.get(invocation.option('output'))
    if (format !== undefined) await printReport(invocation, format)
    const limit = invocation.option('failOn')
    if (limit === '') return
    const failing = found.filter(
      ({ state, severity }) =>
        state !== 'not-affected' && severities.indexOf(severity) <= severities.indexOf(limit),
    )
    if (failing.length > 0)
      throw new CommandFailed(`${failing.length} findings of severity ${limit} or higher`)
  },
}

async function printReport(invocation: Invocation, format: ReportFormat): Promise<void> {
  const client = await invocation.client()
  const { uid, reference } = await resolveReadImage(invocation, invocation.argument(0))
  const { report } = await client.findings.getImageReport({
    uid,
    reference,
    platform: invocation.option('platform'),
    format,
  })
  process.stdout.write(`${report}\n`)
}

const affectedView: View<AffectedImage> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'REPO', kind: 'uid', value: ({ repoUid }) => repoUid },
    { title: 'TAGS', kind: 'name', value: ({ tags }) => tags.join(' ') },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'PACKAGE', value: ({ finding }) => finding?.purl.replace(/\?.*$/, '') ?? '' },
    { title: 'STATE', value: ({ finding }) => enumName(finding?.state ?? '', 'STATE_') },
    { title: 'FIXED', value: ({ finding }) => finding?.fixedVersion ?? '' },
  ],
  empty: 'no image is known to have it',
}

/** Belongs to the commands of advisories. */
export const affectedCommand = listCommand<AffectedImage>({
  name: 'affected',
  summary: 'List the images with a vulnerability',
  parameters: [{ name: 'ID', summary: 'ID or alias, such as CVE-2024-6119', required: true }],
  options: [{ flags: '--parent <group>', summary: 'organization or folder, including its subfolders' }],
  examples: [
    'berth advisories affected CVE-2024-6119 --parent my-org',
    'berth advisories affected GHSA-2222-3333-4444 -o json',
  ],
  view: () => affectedView,
  async *items(invocation) {
    const client = await invocation.client()
    const uid = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    yield* client.affectedImages.all({ uid, vulnerability: invocation.argument(0) })
  },
})
