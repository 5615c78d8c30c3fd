import type { Finding, FindingSeverity, FindingState, ListImageFindingsResponse } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import {
  type FindingFilter,
  findingSummaryQuery,
  findingsQuery,
  missingToReadFindings,
} from '../../api/queries/contents/findings.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { CweFilter, cweOf } from '../../components/cwe-filter.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { plural } from '../../components/quantity.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { severities, severityChoices } from '../../components/severity.ts'
import { Time } from '../../components/time.tsx'
import { Coverage, isCovered } from './coverage.tsx'
import { FindingCounts } from './finding-counts.tsx'
import {
  affectingStates,
  Exploitation,
  FindingId,
  FindingPackage,
  FindingSeverityBadge,
  FindingStateBadge,
  FixedVersion,
  findingStates,
  stateTexts,
} from './finding-texts.tsx'
import type { ImageTabProps } from './image-tab.ts'
import { ScannerReports } from './scanner-reports.tsx'
import { TagsWith } from './tags-with.tsx'
import '../../styles/pages/contents.css'

/** The vulnerabilities of an image; of an index, those of all its images. */
export function VulnerabilitiesTab(props: ImageTabProps) {
  const { repo, digest } = props
  const missing = missingToReadFindings(useAccess(), repo)
  const query = useQuery({ ...findingSummaryQuery(repo, digest), enabled: missing === undefined })
  if (missing !== undefined) return <NoPermission label="Vulnerabilities" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the vulnerabilities" query={query} />
  return <Findings {...props} summary={query.data} />
}

/** In the address: one state, or all of them. */
const ALL = 'all'

function useFindingFilter(): FindingFilter {
  const [{ state = '', severity = '', vulnerability = '', exploitation = '', cwe = '', order = '' }] =
    useAddressState()
  const minEpss = minEpssOf(exploitation)
  const one = findingStates.find((known) => stateTexts[known].id === state)
  const states: readonly FindingState[] = one !== undefined ? [one] : state === ALL ? [] : affectingStates
  const known = severities.find((name) => name === severity)
  return {
    states,
    severities: known === undefined ? [] : [`SEVERITY_${known.toUpperCase()}` as FindingSeverity],
    vulnerability,
    knownExploited: exploitation === EXPLOITED,
    ...(minEpss !== undefined && { minEpss }),
    cwes: cweOf(cwe),
    orderBy: orderChoices.some(({ id }) => id === order) ? order : 'severity',
  }
}

/** In the address: known to be exploited, or the lowest probability of exploitation in percent. */
const EXPLOITED = 'known'
const epssPercents = [50, 10, 1]
const epssId = (percent: number): string => `epss-${percent}`

function minEpssOf(exploitation: string): number | undefined {
  const percent = epssPercents.find((known) => epssId(known) === exploitation)
  return percent === undefined ? undefined : percent / 100
}

const exploitationChoices = [
  { id: EXPLOITED, name: 'Known to be exploited' },
  ...epssPercents.map((percent) => ({ id: epssId(percent), name: `EPSS of ${percent} % or more` })),
]
const orderChoices = [
  { id: 'risk', name: 'Risk of exploitation' },
  { id: 'vulnerability', name: 'ID' },
]

const stateChoices = [
  ...findingStates.map((state) => ({ id: stateTexts[state].id, name: stateTexts[state].name })),
  { id: ALL, name: 'All states' },
]

function Findings({
  repo,
  path,
  digest,
  summary,
}: ImageTabProps & { readonly summary: ListImageFindingsResponse }) {
  const [{ state = '', severity = '', vulnerability = '', exploitation = '' }, change] = useAddressState()
  const filter = useFindingFilter()
  const { contentsState, matched, advisoriesTime = '', counts, catalogs, knownExploitedCount } = summary
  // A new page is read when findings may have changed.
  const version = JSON.stringify([
    contentsState,
    matched,
    advisoriesTime,
    counts,
    catalogs,
    knownExploitedCount,
  ])
  const choiceName = (choices: readonly { id: string; name: string }[], id: string) =>
    choices.find((choice) => choice.id === id)?.name ?? ''
  const isKnown = (format: string) => catalogs.some((catalog) => catalog.format === format)
  const set = [
    ['state', choiceName(stateChoices, state)],
    ['severity', choiceName(severityChoices, severity)],
    ['vulnerability', vulnerability],
    ['exploitation', choiceName(exploitationChoices, exploitation)],
    ['cwe', filter.cwes.join()],
  ] as const
  const active = set.filter(([, text]) => text !== '')
  if (contentsState === 'none')
    return <p className="muted">This manifest is not an image, so it has no vulnerabilities of its own.</p>
  return (
    <>
      <Coverage repo={repo} summary={summary} />
      <KnownExploited summary={summary} />
      <FindingCounts counts={counts} />
      <section>
        <h2>Findings</h2>
        <FilterBar>
          <SelectFilter label="Severity" name="severity" choices={severityChoices} />
          <SelectFilter label="State" name="state" anyLabel="All but not affected" choices={stateChoices} />
          <TextFilter label="Vulnerability" name="vulnerability" placeholder="CVE-2024-6119" />
          {catalogs.length > 0 && (
            <SelectFilter
              label="Exploitation"
              name="exploitation"
              choices={exploitationChoices.filter(({ id }) => isKnown(id === EXPLOITED ? 'kev' : 'epss'))}
            />
          )}
          <CweFilter />
          <SelectFilter label="Order" name="order" anyLabel="Severity" choices={orderChoices} />
        </FilterBar>
        <FilterChips set={active} />
        <PageList
          label="Findings"
          query={findingsQuery(repo, digest, filter, version)}
          keyOf={({ vulnerability: id, purl }) => `${id} ${purl}`}
          columns={[
            ...columns.filter(({ id }) => id !== 'exploitation' || catalogs.length > 0),
            tagsColumn((id) => change({ vulnerability: id })),
          ]}
          empty={
            active.length === 0 ? (
              <p>{emptyText(summary)}</p>
            ) : (
              <p>
                No finding matches these filters.{' '}
                <Button
                  className="link"
                  onPress={() => change(Object.fromEntries(set.map(([name]) => [name, ''])))}
                >
                  Show all findings
                </Button>
              </p>
            )
          }
        />
      </section>
      {vulnerability !== '' && <TagsWith repo={repo} path={path} vulnerability={vulnerability} />}
      <ScannerReports repo={repo} digest={digest} version={version} />
      <Equivalent command={`berth images vulns ${quoted(`${path}@${digest}`)}${optionsOf(filter, state)}`} />
    </>
  )
}

/** The options of `berth images vulns` for the filters that it has. */
function optionsOf({ knownExploited, minEpss, cwes, orderBy }: FindingFilter, state: string): string {
  return [
    state === ALL || state === 'not-affected' ? ' --all' : '',
    knownExploited ? ' --exploited' : '',
    minEpss === undefined ? '' : ` --min-epss ${minEpss}`,
    ...cwes.map((cwe) => ` --cwe ${cwe}`),
    orderBy === 'risk' ? ' --by-risk' : '',
  ].join('')
}

/** What catalogs state about the image, or that there is none. */
function KnownExploited({ summary }: { readonly summary: ListImageFindingsResponse }) {
  const [, change] = useAddressState()
  const { catalogs, knownExploitedCount } = summary
  const kev = catalogs.find(({ format }) => format === 'kev')
  if (kev === undefined)
    return (
      <p className="muted">
        Which of them are exploited is unknown: the organization has no catalog of known exploited
        vulnerabilities (KEV).
      </p>
    )
  const count = Number(knownExploitedCount)
  return (
    <p className={count > 0 ? 'caution' : 'muted'}>
      {count === 0 ? (
        'None of them is known to be exploited'
      ) : (
        <Button className="link" onPress={() => change({ exploitation: EXPLOITED })}>
          {plural(count, 'finding')} known to be exploited
        </Button>
      )}
      , by the catalog of <Time value={kev.publishTime} isRelative />.
    </p>
  )
}

/** Never that an image has no vulnerabilities: what is not known could have some. */
function emptyText(summary: ListImageFindingsResponse): string {
  if (!isCovered(summary)) return 'No finding so far, in the part of the image that is known.'
  const others = summary.counts.length > 0 ? ', or an analysis states that it is not affected' : ''
  return `No advisory of the organization is about a package of this image${others}.`
}

const columns: readonly PlainColumn<Finding>[] = [
  { id: 'id', title: 'Vulnerability', cell: (finding) => <FindingId finding={finding} /> },
  {
    id: 'severity',
    title: 'Severity',
    cell: ({ severity, score }) => <FindingSeverityBadge severity={severity} score={score} />,
  },
  {
    id: 'exploitation',
    title: 'Exploitation',
    cell: (finding) => <Exploitation finding={finding} />,
  },
  { id: 'package', title: 'Package', cell: (finding) => <FindingPackage finding={finding} /> },
  { id: 'fixed', title: 'Fixed in', cell: (finding) => <FixedVersion finding={finding} /> },
  {
    id: 'state',
    title: 'State',
    cell: ({ state, justification }) => (
      <>
        <FindingStateBadge state={state} />
        {justification !== '' && <bdi className="second long-words">{justification}</bdi>}
      </>
    ),
  },
]

/** The tags of the repository that have a vulnerability, and those in which it is fixed. */
const tagsColumn = (onShow: (vulnerability: string) => void): PlainColumn<Finding> => ({
  id: 'tags',
  title: 'In tags',
  cell: ({ vulnerability }) => (
    <RowAction label="Show" object={`the tags with ${vulnerability}`} onPress={() => onShow(vulnerability)} />
  ),
})
