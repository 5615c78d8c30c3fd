import type { Finding, ImagePackage, PackageChange } from '@berth/client'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { findingDifferenceQuery } from '../../api/queries/contents/findings.ts'
import { packageDifferenceQuery } from '../../api/queries/contents/packages.ts'
import { messageOf } from '../../api/query-client.ts'
import { LongText } from '../../components/long-text.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import {
  FindingId,
  FindingPackage,
  FindingSeverityBadge,
  FindingStateBadge,
} from '../contents/finding-texts.tsx'
import { ChangeBadge } from './change-badge.tsx'
import type { Change } from './difference.ts'

/** What two images contain differently: packages, and their vulnerabilities. */
export function ContentsDifference({
  repo,
  from,
  to,
}: {
  readonly repo: string
  readonly from: string
  readonly to: string
}) {
  const packages = useQuery(packageDifferenceQuery(repo, from, to))
  const findings = useQuery(findingDifferenceQuery(repo, from, to))
  return (
    <>
      <Part title="Packages" query={packages}>
        {({ added, removed, changed }) => (
          <Packages
            items={[
              ...added.map((one) => oneSided(one, 'added')),
              ...removed.map((one) => oneSided(one, 'removed')),
              ...withChange(changed, 'changed'),
            ]}
          />
        )}
      </Part>
      <Part title="Vulnerabilities" query={findings}>
        {({ added, removed, changed }) => (
          <Findings
            items={[
              ...withChange(added, 'added'),
              ...withChange(removed, 'removed'),
              ...withChange(changed, 'changed'),
            ]}
          />
        )}
      </Part>
    </>
  )
}

type Changed<T> = T & { readonly change: Change }

const withChange = <T extends object>(items: readonly T[], change: Change): Changed<T>[] =>
  items.map((item) => ({ ...item, change }))

/** A package that only one of the images contains. */
function oneSided({ type, namespace, name, version, purl }: ImagePackage, change: 'added' | 'removed') {
  const [versions, otherVersions] = change === 'added' ? [[], [version]] : [[version], []]
  return { type, namespace, name, versions, otherVersions, change, purl }
}

function Part<T>({
  title,
  query: { data, error },
  children,
}: {
  readonly title: string
  readonly query: UseQueryResult<T>
  children(value: T): ReactNode
}) {
  return (
    <section>
      <h2>{title}</h2>
      {data !== undefined ? (
        children(data)
      ) : error === null ? (
        <p className="muted" role="status">
          Comparing {title.toLowerCase()}…
        </p>
      ) : (
        <p className="muted" role="status">
          {title} cannot be compared. {messageOf(error)}
        </p>
      )}
    </section>
  )
}

/** `purl`: distinguishes architectures. */
type ChangedPackage = Changed<PackageChange> & { readonly purl?: string }

function Packages({ items }: { readonly items: readonly ChangedPackage[] }) {
  if (items.length === 0) return <p className="muted">No difference.</p>
  return (
    <PlainTable
      label="Packages"
      items={items}
      keyOf={({ type, namespace, name, change, versions, otherVersions, purl = '' }) =>
        [change, type, namespace, name, ...versions, ...otherVersions, purl].join(' ')
      }
      columns={[
        {
          id: 'name',
          title: 'Name',
          cell: ({ type, namespace, name }) => (
            <LongText text={[type, namespace, name].filter((part) => part !== '').join('/')} />
          ),
        },
        { id: 'change', title: 'Change', cell: ({ change }) => <ChangeBadge change={change} /> },
        { id: 'before', title: 'First', cell: ({ versions }) => <Versions versions={versions} /> },
        { id: 'after', title: 'Second', cell: ({ otherVersions }) => <Versions versions={otherVersions} /> },
      ]}
    />
  )
}

function Versions({ versions }: { readonly versions: readonly string[] }) {
  return versions.length === 0 ? (
    <span className="muted">not contained</span>
  ) : (
    <LongText text={versions.join(', ')} />
  )
}

function Findings({ items }: { readonly items: readonly Changed<Finding>[] }) {
  if (items.length === 0)
    return <p className="muted">No difference in what the advisories of the organization cover.</p>
  return (
    <PlainTable
      label="Vulnerabilities"
      items={items}
      keyOf={({ vulnerability, purl, change }) => [change, vulnerability, purl].join(' ')}
      columns={[
        { id: 'vulnerability', title: 'Vulnerability', cell: (finding) => <FindingId finding={finding} /> },
        {
          id: 'change',
          title: 'Change',
          cell: ({ change }) => (
            <ChangeBadge
              change={change}
              tone={change === 'added' ? 'bad' : change === 'removed' ? 'good' : 'warn'}
            />
          ),
        },
        {
          id: 'severity',
          title: 'Severity',
          cell: ({ severity, score }) => <FindingSeverityBadge severity={severity} score={score} />,
        },
        { id: 'package', title: 'Package', cell: (finding) => <FindingPackage finding={finding} /> },
        { id: 'state', title: 'State', cell: ({ state }) => <FindingStateBadge state={state} /> },
      ]}
    />
  )
}
