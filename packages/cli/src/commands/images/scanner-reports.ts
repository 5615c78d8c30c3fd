import type { ScannerFinding, ScannerReport } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { type ListDeclaration, listCommand, printList } from '../../invocation/list-command.ts'
import { enumName } from '../../output/enum-names.ts'
import type { View } from '../../output/output.ts'
import { resolveReadImage, storedImageParameter, waitOption } from './contents.ts'
import { platformOption } from './image-location.ts'

/** Reports of other scanners that are attached to images. */

const severityOf = (value: string) => enumName(value, 'SEVERITY_')

const reportView: View<ScannerReport> = {
  id: ({ manifestDigest }) => manifestDigest,
  columns: [
    { title: 'SCANNER', kind: 'name', value: ({ scanner }) => scanner },
    { title: 'VERSION', value: ({ scannerVersion }) => scannerVersion },
    { title: 'FINDINGS', value: ({ findingCount }) => findingCount },
    {
      title: 'SEVERITIES',
      value: ({ counts }) =>
        counts.map(({ severity, count }) => `${severityOf(severity)}: ${count}`).join(', '),
    },
    { title: 'CREATED', kind: 'time', value: ({ createTime }) => createTime ?? '' },
    { title: 'FORMAT', value: ({ format }) => format, wide: true },
    { title: 'DATABASE', kind: 'time', value: ({ databaseTime }) => databaseTime ?? '', wide: true },
    { title: 'MANIFEST', value: ({ manifestDigest }) => manifestDigest, wide: true },
  ],
  empty: 'no report of a scanner is attached to the image',
}

/** A finding as the command prints it. */
interface ReportedFinding {
  readonly id: string
  readonly aliases: readonly string[]
  readonly purl: string
  readonly severity: string
  readonly fixState: string
  readonly fixedVersion: string
  readonly known: boolean
  readonly description: string
}

function toReportedFinding(finding: ScannerFinding): ReportedFinding {
  return {
    id: finding.vulnerability,
    aliases: finding.aliases,
    purl: finding.purls.join(' '),
    severity: severityOf(finding.severity),
    fixState: enumName(finding.fixState, 'FIX_STATE_'),
    fixedVersion: finding.fixedVersions.join(' '),
    known: finding.known,
    description: finding.description,
  }
}

const findingView: View<ReportedFinding> = {
  id: ({ id }) => id,
  columns: [
    { title: 'ID', kind: 'name', value: ({ id }) => id },
    { title: 'SEVERITY', value: ({ severity }) => severity },
    { title: 'PACKAGE', value: ({ purl }) => purl.replace(/\?\S*/g, '') },
    { title: 'FIX', value: ({ fixState }) => fixState },
    { title: 'FIXED', value: ({ fixedVersion }) => fixedVersion },
    { title: 'BERTH', value: ({ known }) => (known ? 'yes' : 'no') },
    { title: 'ALIASES', value: ({ aliases }) => aliases.join(' '), wide: true },
    { title: 'DESCRIPTION', value: ({ description }) => description, wide: true },
  ],
  empty: 'the report has no findings',
}

const reportList: ListDeclaration<ScannerReport> = {
  name: 'reports',
  summary: 'List the reports of other scanners that are attached to an image',
  parameters: [storedImageParameter],
  options: [
    {
      flags: '--scanner <name>',
      summary: 'list the findings of the latest report of this scanner, such as trivy',
    },
    platformOption,
    waitOption,
  ],
  notes:
    'Reports are attached as referrers or attestations: SARIF, JSON of grype and trivy, CycloneDX with vulnerabilities. With --scanner, BERTH tells\nwhether the server reports the vulnerability too, and differences are reported on standard error.',
  examples: [
    'berth images reports my-org/app:1.0',
    'berth images reports my-org/app:1.0 --scanner trivy',
    'berth images reports my-org/app:1.0 --scanner grype -o json',
  ],
  view: () => reportView,
  async items(invocation) {
    const client = await invocation.client()
    const image = await resolveReadImage(invocation, invocation.argument(0))
    return (await client.scannerReports.list(image)).scannerReports
  },
}

async function* listFindings(invocation: Invocation): AsyncGenerator<ReportedFinding> {
  const client = await invocation.client()
  const image = await resolveReadImage(invocation, invocation.argument(0))
  const report = { ...image, scanner: invocation.option('scanner') }
  const { onlyInReport, onlyInServer, notAffected, commonCount, matched } =
    await client.scannerReports.compareScannerReport(report)
  invocation.output.notice(
    `in both: ${commonCount}; only in the report: ${onlyInReport.length}; only in Berth: ${onlyInServer.length}; not affected according to Berth: ${notAffected.length}`,
  )
  if (!matched) invocation.output.notice('packages of the image are not matched with advisories yet')
  let pageToken = ''
  do {
    const page = await client.scannerReports.listScannerReportFindings({ ...report, pageToken })
    for (const finding of page.findings) yield toReportedFinding(finding)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
}

export const reportsCommand: CommandDeclaration = {
  ...listCommand(reportList),
  run: (invocation) =>
    invocation.option('scanner') === ''
      ? printList(invocation, reportList)
      : printList(invocation, { ...reportList, view: () => findingView, items: listFindings }),
}
