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
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { type ColumnOf, PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { severities } from '../../components/severity.ts'
import { Coverage, isCovered } from './coverage.tsx'
import { FindingCounts } from './finding-counts.tsx'
import {
  affectingStates,
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
  const [{ state = '', severity = '', vulnerability = '' }] = useAddressState()
  const one = findingStates.find((known) => stateTexts[known].id === state)
  const states: readonly FindingState[] = one !== undefined ? [one] : state === ALL ? [] : affectingStates
  const known = severities.find((name) => name === severity)
  return {
    states,
    severities: known === undefined ? [] : [`SEVERITY_${known.toUpperCase()}` as FindingSeverity],
    vulnerability,
  }
}

const stateChoices = [
  ...findingStates.map((state) => ({ id: stateTexts[state].id, name: stateTexts[state].name })),
  { id: ALL, name: 'All states' },
]
const severityChoices = severities.map((id) => ({ id, name: `${id.charAt(0).toUpperCase()}${id.slice(1)}` }))

function Findings({
  repo,
  path,
  digest,
  summary,
}: ImageTabProps & { readonly summary: ListImageFindingsResponse }) {
  const [{ state = '', severity = '', vulnerability = '' }, change] = useAddressState()
  const filter = useFindingFilter()
  const { contentsState, matched, advisoriesTime = '', counts } = summary
  // A new page is read when findings may have changed.
  const version = JSON.stringify([contentsState, matched, advisoriesTime, counts])
  const choiceName = (choices: readonly { id: string; name: string }[], id: string) =>
    choices.find((choice) => choice.id === id)?.name ?? ''
  const set = [
    ['state', choiceName(stateChoices, state)],
    ['severity', choiceName(severityChoices, severity)],
    ['vulnerability', vulnerability],
  ] as const
  const active = set.filter(([, text]) => text !== '')
  if (contentsState === 'none')
    return <p className="muted">This manifest is not an image, so it has no vulnerabilities of its own.</p>
  return (
    <>
      <Coverage repo={repo} summary={summary} />
      <FindingCounts counts={counts} />
      <section>
        <h2>Findings</h2>
        <FilterBar>
          <SelectFilter label="Severity" name="severity" choices={severityChoices} />
          <SelectFilter label="State" name="state" anyLabel="All but not affected" choices={stateChoices} />
          <TextFilter label="Vulnerability" name="vulnerability" placeholder="CVE-2024-6119" />
        </FilterBar>
        <FilterChips set={active} />
        <PageList
          label="Findings"
          query={findingsQuery(repo, digest, filter, version)}
          keyOf={({ vulnerability: id, purl }) => `${id} ${purl}`}
          columns={[...columns, tagsColumn((id) => change({ vulnerability: id }))]}
          empty={
            active.length === 0 ? (
              <p>{emptyText(summary)}</p>
            ) : (
              <p>
                No finding matches these filters.{' '}
                <Button
                  className="link"
                  onPress={() => change({ state: '', severity: '', vulnerability: '' })}
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
      <Equivalent
        command={`berth images vulns ${quoted(`${path}@${digest}`)}${state === ALL || state === 'not-affected' ? ' --all' : ''}`}
      />
    </>
  )
}

/** Never that an image has no vulnerabilities: what is not known could have some. */
function emptyText(summary: ListImageFindingsResponse): string {
  if (!isCovered(summary)) return 'No finding so far, in the part of the image that is known.'
  const others = summary.counts.length > 0 ? ', or an analysis states that it is not affected' : ''
  return `No advisory of the organization is about a package of this image${others}.`
}

const columns: readonly ColumnOf<Finding>[] = [
  { id: 'id', title: 'Vulnerability', cell: (finding) => <FindingId finding={finding} /> },
  {
    id: 'severity',
    title: 'Severity',
    cell: ({ severity, score }) => <FindingSeverityBadge severity={severity} score={score} />,
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
const tagsColumn = (onShow: (vulnerability: string) => void): ColumnOf<Finding> => ({
  id: 'tags',
  title: 'In tags',
  cell: ({ vulnerability }) => (
    <RowAction label="Show" object={`the tags with ${vulnerability}`} onPress={() => onShow(vulnerability)} />
  ),
})
