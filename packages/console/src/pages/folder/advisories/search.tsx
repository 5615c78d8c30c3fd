import type { FindingSeverity, VulnerabilityRecord } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { useAddressState } from '../../../address-state.ts'
import { vulnerabilityRecordsQuery } from '../../../api/queries/advisories.ts'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../../components/copy.tsx'
import { CweFilter, cweOf } from '../../../components/cwe-filter.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../../components/filter-bar.tsx'
import { PageList } from '../../../components/page-list.tsx'
import type { PlainColumn } from '../../../components/plain-table.tsx'
import { severityChoices } from '../../../components/severity.ts'
import { Time } from '../../../components/time.tsx'
import { formatNames } from '../../advisories/document-columns.tsx'
import { FindingSeverityBadge } from '../../contents/finding-texts.tsx'
import type { FolderTabProps } from '../folder.tsx'

const scoreChoices = [9, 7, 4].map((score) => ({ id: String(score), name: `${score} or higher` }))
const orderChoices = [
  { id: 'score desc', name: 'Score' },
  { id: 'vulnerability', name: 'ID' },
]

/** Searches what the documents of a folder, and of the folders in it, say about vulnerabilities. */
export function SearchTexts({ uid, name }: FolderTabProps) {
  const [{ text = '', severity = '', score = '', cwe = '', order = '' }] = useAddressState()
  const path = usePath(uid, name)
  const known = severityChoices.find(({ id }) => id === severity)
  const minScore = scoreChoices.find(({ id }) => id === score)
  const orderBy = orderChoices.some(({ id }) => id === order) ? order : ''
  const filter = {
    query: text,
    severities: known === undefined ? [] : [`SEVERITY_${known.id.toUpperCase()}` as FindingSeverity],
    ...(minScore !== undefined && { minScore: Number(minScore.id) }),
    cwes: cweOf(cwe),
    orderBy,
  }
  const set = [
    ['text', text],
    ['severity', known?.name ?? ''],
    ['score', minScore === undefined ? '' : `Score of ${minScore.name}`],
    ['cwe', filter.cwes.join()],
  ] as const
  const active = set.filter(([, shown]) => shown !== '')
  return (
    <>
      <FilterBar>
        <TextFilter label="Words" name="text" placeholder="denial of service parser" />
        <SelectFilter label="Severity" name="severity" choices={severityChoices} />
        <SelectFilter label="CVSS score" name="score" choices={scoreChoices} />
        <CweFilter />
        <SelectFilter label="Order" name="order" anyLabel="Last change" choices={orderChoices} />
      </FilterBar>
      <FilterChips set={active} />
      <PageList
        label="Vulnerabilities"
        query={vulnerabilityRecordsQuery(uid, filter)}
        keyOf={({ groupUid, format, documentId, vulnerability }) =>
          [groupUid, format, documentId, vulnerability].join(' ')
        }
        columns={columns}
        empty={
          active.length > 0 ? (
            <p>
              No document says all of this. All words must occur, in the summary, details, notes or names.
            </p>
          ) : (
            <p>
              There are no texts yet. They are read when documents are imported; documents from before version
              0.7 need to be imported again, which feeds do by themselves.
            </p>
          )
        }
      />
      <Equivalent
        command={[
          'berth advisories search',
          ...(text === '' ? [] : [quoted(text)]),
          `--parent ${quoted(path)}`,
          ...(known === undefined ? [] : [`--severity ${known.id}`]),
          ...(minScore === undefined ? [] : [`--min-score ${minScore.id}`]),
          ...filter.cwes.map((id) => `--cwe ${id}`),
          ...(orderBy === '' ? [] : [`--sort ${quoted(orderBy)}`]),
        ].join(' ')}
      />
    </>
  )
}

const columns: readonly PlainColumn<VulnerabilityRecord>[] = [
  {
    id: 'vulnerability',
    title: 'Vulnerability',
    cell: ({ vulnerability, aliases }) => (
      <>
        <Link to="/advisories" search={{ cve: vulnerability }} className="package-name">
          {vulnerability}
        </Link>
        {aliases.length > 0 && (
          <bdi className="second long-words">{aliases.slice(0, ALIASES_SHOWN).join(', ')}</bdi>
        )}
      </>
    ),
  },
  {
    id: 'summary',
    title: 'Summary',
    cell: ({ summary, excerpt, cwes }) => (
      <>
        <bdi className="long-words">{summary}</bdi>
        {summary === '' && excerpt === '' && <span className="muted">no summary</span>}
        {excerpt !== '' && <bdi className="second long-words">{excerpt}</bdi>}
        {cwes.length > 0 && <span className="second">{cwes.join(', ')}</span>}
      </>
    ),
  },
  {
    id: 'severity',
    title: 'Severity',
    cell: ({ severity, score }) => <FindingSeverityBadge severity={severity} score={score} />,
  },
  {
    id: 'packages',
    title: 'Packages',
    cell: ({ packages }) => (
      <bdi className="package-name" title={packages.join('\n')}>
        {packages.slice(0, PACKAGES_SHOWN).join(', ')}
        {packages.length > PACKAGES_SHOWN ? ` and ${packages.length - PACKAGES_SHOWN} more` : ''}
      </bdi>
    ),
  },
  {
    id: 'source',
    title: 'Source',
    cell: ({ groupUid, format, documentId }) => (
      <>
        <Link
          to="/folders/$"
          params={{ _splat: groupUid }}
          search={{ tab: 'advisories', section: 'documents', document: documentId }}
        >
          {formatNames[format] ?? format}
        </Link>
        <bdi className="second long-words">{documentId}</bdi>
      </>
    ),
  },
  {
    id: 'modified',
    title: 'Changed',
    cell: ({ modifyTime }) => <Time value={modifyTime} isRelative absent="not stated" />,
  },
]

const ALIASES_SHOWN = 3
const PACKAGES_SHOWN = 3
