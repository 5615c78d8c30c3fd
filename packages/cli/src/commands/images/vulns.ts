import type {
  AffectedImage,
  Finding,
  ListImageFindingsResponse,
  PendingWork,
  ReportFormat,
} from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { cweOption, minScoreOption, readCwes, readNumber } from '../../invocation/filter-options.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../invocation/list-command.ts'
import { resolveGroupUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import { enumName } from '../../output/enum-names.ts'
import type { View } from '../../output/output.ts'
import { plural } from '../../output/plural.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { readWhenDone, resolveReadImage, storedImageParameter, waitOption } from './contents.ts'

/** Vulnerabilities of images. */

/** A finding as the command prints it. */
export interface Vulnerability {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purl: string
  readonly version: string
  readonly state: string
  readonly severity: string
  readonly score: number | undefined
  /** Kinds of weaknesses. */
  readonly cwes: readonly string[]
  readonly knownExploited: boolean
  /** Day on which it was added to the catalog, and day by which that requires a mitigation. */
  readonly exploitation:
    | { readonly added: string; readonly due: string; readonly ransomware: boolean }
    | undefined
  /** Probability of exploitation, and its percentile, from 0 to 1. */
  readonly epss: number | undefined
  readonly epssPercentile: number | undefined
  readonly fixedVersion: string
  readonly justification: string
  readonly advisory: string
}

/** The highest first. */
export const severities = ['critical', 'high', 'medium', 'low', 'none', 'unknown']

/** Without what JSON cannot represent as a number. */
export function numberOrNone(value: number | string | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}

export function toVulnerability(finding: Finding): Vulnerability {
  const { knownExploitation: known } = finding
  return {
    id: finding.vulnerability,
    aliases: finding.aliases,
    purl: finding.purl,
    version: finding.version,
    state: enumName(finding.state, 'STATE_'),
    severity: enumName(finding.severity, 'SEVERITY_'),
    score: numberOrNone(finding.score),
    cwes: finding.cwes,
    knownExploited: known !== undefined,
    exploitation: known && { added: known.addedDate, due: known.dueDate, ransomware: known.ransomware },
    epss: numberOrNone(finding.epssProbability),
    epssPercentile: numberOrNone(finding.epssPercentile),
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
    { title: 'EXPLOITED', value: ({ knownExploited }) => (knownExploited ? 'yes' : '') },
    {
      title: 'EPSS',
      value: ({ epss }) => (epss === undefined ? '' : `${(epss * 100).toFixed(2)}%`),
      sortValue: ({ epss = -1 }) => epss,
    },
    {
      title: 'SCORE',
      value: ({ score }) => (score === undefined ? '' : String(score)),
      sortValue: ({ score = -1 }) => score,
      wide: true,
    },
    { title: 'WEAKNESSES', value: ({ cwes }) => cwes.join(' '), wide: true },
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
    {
      flags: '--fail-on-exploited',
      summary: 'end with exit code 1 if the image is affected by one that is known to be exploited',
    },
    { flags: '--exploited', summary: 'only those that are known to be exploited (KEV)' },
    {
      flags: '--min-epss <probability>',
      summary: 'only those with this probability of exploitation or a higher one, 0 to 1',
    },
    minScoreOption,
    cweOption,
    {
      flags: '--by-risk',
      summary: 'first those that are known to be exploited, then by EPSS and score; default: by severity',
    },
    { flags: '--all', summary: 'also those that do not affect the image' },
    { flags: '--platform <platform>', summary: 'image of an index, such as linux/arm64; default: all' },
    {
      ...waitOption,
      summary: 'wait up to 5 minutes until the image is read and matched with the current advisories',
    },
  ],
  notes:
    'The packages of the image are matched with the advisories of the organization. What is not covered, and how old the advisories are, is reported on standard error.\n--fail-on and --fail-on-exploited also end with exit code 1 if the image is not read, or not matched with the current advisories: use --wait with them.\n-o sarif prints SARIF 2.1.0 for code scanning, -o cyclonedx CycloneDX 1.6 with all packages. Both contain what does not affect the image, marked as such;\nof an index they are about one image: that for linux/amd64, or --platform.',
  examples: [
    'berth images vulns my-org/app:1.0',
    'berth images vulns my-org/app:1.0 --fail-on high --wait',
    'berth images vulns my-org/app:1.0 --by-risk --limit 20',
    'berth images vulns my-org/app:1.0 --exploited',
    'berth images vulns my-org/app:1.0 --all -o json',
    'berth images vulns my-org/app:1.0 --wait -o sarif > app.sarif',
  ],
  view: () => vulnerabilityView,
  items: listVulnerabilities,
}

/** States that `--all` adds. */
const irrelevant = ['not-affected']

async function listVulnerabilities(invocation: Invocation): Promise<readonly Vulnerability[]> {
  const minEpss = readNumber(invocation, '--min-epss', 1)
  const minScore = readNumber(invocation, '--min-score', 10)
  const cwes = readCwes(invocation)
  const client = await invocation.client()
  const { uid, reference } = await resolveReadImage(invocation, invocation.argument(0))
  const image = {
    uid,
    ...(reference.includes(':') ? { digest: reference } : { tag: reference }),
    platform: invocation.option('platform'),
  }
  const known = await readMatched(invocation, image)
  reportCoverage(invocation, known)
  requireKnown(invocation, known)
  requireCatalog(invocation, known)
  const found: Vulnerability[] = []
  const filters = {
    knownExploited: invocation.flag('exploited'),
    ...(minEpss !== undefined && { minEpss }),
    ...(minScore !== undefined && { minScore }),
    cwes,
    orderBy: invocation.flag('byRisk') ? 'risk' : 'severity',
  }
  for await (const finding of client.findings.all({ ...image, ...filters }))
    found.push(toVulnerability(finding))
  return found.filter(({ state }) => invocation.flag('all') || !irrelevant.includes(state))
}

/** Waits, with `--wait`, until no work in the background changes the findings of the image. Fails if that takes too long. */
export async function readMatched(
  invocation: Invocation,
  image: { readonly uid: string; readonly digest?: string; readonly tag?: string },
): Promise<ListImageFindingsResponse> {
  const client = await invocation.client()
  return readWhenDone(
    invocation,
    () => client.findings.list({ ...image, pageSize: 1 }),
    ({ pending: [first] }) =>
      first === undefined || !invocation.flag('wait')
        ? undefined
        : {
            progress: `waiting: ${pendingTexts[first]}`,
            failure: `the findings are not up to date after 5 minutes: ${pendingTexts[first]}`,
          },
  )
}

const pendingTexts: Readonly<Record<PendingWork, string>> = {
  PENDING_WORK_UNSPECIFIED: '',
  PENDING_WORK_CONTENTS: 'the image is not read yet',
  PENDING_WORK_PACKAGES: 'packages of the image are not matched with advisories yet',
  PENDING_WORK_ADVISORIES: 'advisories about packages of the image have changed and are not matched yet',
  PENDING_WORK_CATALOGS: 'a catalog of exploited vulnerabilities has changed and is not applied yet',
}

/** Why nothing is known of an image; undefined if its packages are known, or pending. */
function unknownReason({
  contentsState,
  contentsReason,
  problemCount,
  coverage,
}: ListImageFindingsResponse): string | undefined {
  if (contentsState === 'failed') return `the image could not be read, because ${contentsReason}`
  if (contentsState === 'none') return 'it is not an image'
  return contentsState === 'read' && coverage.length === 0 && problemCount !== '0'
    ? 'no packages were found, and parts of the image could not be read'
    : undefined
}

/** What is not known of an image would pass as clean. */
function requireKnown(invocation: Invocation, known: ListImageFindingsResponse): void {
  const isGated = invocation.option('failOn') !== ''
  if (!isGated && !invocation.flag('failOnExploited')) return
  const option = isGated ? '--fail-on' : '--fail-on-exploited'
  const [first] = known.pending
  const reason = unknownReason(known) ?? (first && `${pendingTexts[first]}; add --wait`)
  if (reason !== undefined) throw new CommandFailed(`${option} cannot be decided: ${reason}`)
}

export function reportPending({ output }: Pick<Invocation, 'output'>, pending: readonly PendingWork[]): void {
  for (const work of pending) output.notice(`${pendingTexts[work]}: the list may change; wait with --wait`)
}

function reportCoverage({ output }: Invocation, known: ListImageFindingsResponse): void {
  const { contentsState, pending, coverage, problemCount, advisoriesTime, catalogs } = known
  const reason = unknownReason(known)
  if (reason !== undefined) output.notice(reason)
  else if (contentsState === 'read' && coverage.length === 0)
    output.notice('no packages were found in the image: its vulnerabilities are unknown')
  if (problemCount !== '0')
    output.notice(
      `not covered: ${problemCount} ${problemCount === '1' ? 'part' : 'parts'} of the image that could not be read; \`berth images packages\` prints them`,
    )
  reportPending({ output }, pending)
  for (const { ecosystem, packageCount, covered } of coverage)
    if (!covered)
      output.notice(
        `not covered: ${plural(packageCount, 'package')} of ${ecosystem}, the organization has no advisories of it`,
      )
  output.notice(
    advisoriesTime === undefined
      ? 'no advisories are imported; `berth advisories feeds add --help` has examples'
      : `advisories as of ${advisoriesTime}`,
  )
  for (const { format, publishTime = '' } of catalogs)
    output.notice(`${catalogNames[format] ?? format} as of ${publishTime}`)
}

const catalogNames: Readonly<Record<string, string>> = {
  kev: 'known exploited vulnerabilities (KEV)',
  epss: 'probabilities of exploitation (EPSS)',
}

/** Without a catalog, no vulnerability is known to be exploited, which does not mean that none is. */
function requireCatalog(invocation: Invocation, { catalogs }: ListImageFindingsResponse): void {
  if (!invocation.flag('failOnExploited') || catalogs.some(({ format }) => format === 'kev')) return
  throw new CommandFailed(
    `--fail-on-exploited needs a catalog that the organization has not imported: ${catalogNames['kev']}; berth advisories feeds add --help has an example`,
  )
}

/** Options that leave out findings. */
const filterFlags = [
  ['exploited', '--exploited'],
  ['minEpss', '--min-epss'],
  ['minScore', '--min-score'],
  ['cwe', '--cwe'],
] as const

/** Throws a UsageError for filters with what is about all findings. */
function requireNoFilters(invocation: Invocation): void {
  const [filter] = filterFlags.filter(([option]) => invocation.optionValues(option).length > 0)
  if (filter === undefined) return
  const format = invocation.option('output')
  const other = invocation.flag('failOnExploited')
    ? '--fail-on-exploited'
    : invocation.option('failOn') !== ''
      ? '--fail-on'
      : reportFormats.has(format)
        ? `-o ${format}`
        : undefined
  if (other !== undefined)
    throw new UsageError(`${other} is about all findings: it cannot be combined with ${filter[1]}`)
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
    requireNoFilters(invocation)
    let found: readonly Vulnerability[] = []
    const items = async () => {
      found = await listVulnerabilities(invocation)
      return found
    }
    // Of the formats of all commands, nothing is printed then.
    await printList(invocation, { ...vulnerabilityList, items })
    const format = reportFormats.get(invocation.option('output'))
    if (format !== undefined) await printReport(invocation, format)
    const affecting = found.filter(({ state }) => state !== 'not-affected')
    const exploited = affecting.filter(({ knownExploited }) => knownExploited)
    if (invocation.flag('failOnExploited') && exploited.length > 0)
      throw new CommandFailed(
        `${plural(exploited.length, 'finding is', 'findings are')} known to be exploited`,
      )
    const limit = invocation.option('failOn')
    if (limit === '') return
    const failing = affecting.filter(
      ({ severity }) => severities.indexOf(severity) <= severities.indexOf(limit),
    )
    if (failing.length > 0)
      throw new CommandFailed(`${plural(failing.length, 'finding')} of severity ${limit} or higher`)
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

const affectedView = (names: ResourceNames): View<AffectedImage> => ({
  id: ({ digest }) => digest,
  columns: [
    { title: 'REPO', kind: 'path', value: ({ repoUid }) => names.repoPath(repoUid) },
    { title: 'TAGS', kind: 'name', value: ({ tags }) => tags.join(' ') },
    { title: 'DIGEST', value: ({ digest }) => digest },
    { title: 'PACKAGE', value: ({ finding }) => finding?.purl.replace(/\?.*$/, '') ?? '' },
    { title: 'STATE', value: ({ finding }) => enumName(finding?.state ?? '', 'STATE_') },
    { title: 'FIXED', value: ({ finding }) => finding?.fixedVersion ?? '' },
  ],
  empty: 'no image is known to have it',
  load: (found) => names.load({ repos: found.map(({ repoUid }) => repoUid) }),
})

/** Belongs to the commands of advisories. */
export const affectedCommand = listCommand<AffectedImage>({
  name: 'affected',
  summary: 'List the images with a vulnerability',
  parameters: [{ name: 'ID', summary: 'ID or alias, such as CVE-2024-6119', required: true }],
  options: [{ flags: '--parent <group>', summary: 'organization or folder, including its subfolders' }],
  examples: [
    'berth advisories affected CVE-2024-6119 --parent my-org',
    'berth advisories affected GHSA-2222-3333-4444 --parent my-org -o json',
  ],
  view: ({ names }) => affectedView(names),
  async *items(invocation) {
    const client = await invocation.client()
    const uid = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
    const request = { uid, vulnerability: invocation.argument(0) }
    const { matched } = await client.affectedImages.list({ ...request, pageSize: 1 })
    if (!matched)
      invocation.output.notice(
        'packages of the organization are not matched with the current advisories yet: there may be more images',
      )
    yield* client.affectedImages.all(request)
  },
})
