import { currentState, newestFirst } from '@berth/advisory-formats/history/advisory-states.ts'
import type { Advisory } from '@berth/client'
import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { advisoryQuery } from '../../api/queries/advisories.ts'
import { Badge } from '../../components/badge.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import { AffectedImages } from './affected-images.tsx'
import { RatingBadge, SeverityBadge, useSeverityRater } from './severity.tsx'
import { Sources } from './sources.tsx'
import { StateBadge } from './states.tsx'
import { Timeline } from './timeline.tsx'
import { explainVector, versionOfVector } from './vector-words.ts'
import '../../styles/pages/advisories.css'

/** An advisory: what is vulnerable, how bad it is, what happened, and which documents say so. */
export function AdvisoryPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="advisory" query={advisoryQuery(uid)}>
      {(advisory) => <AdvisoryDetails key={uid} advisory={advisory} />}
    </ResourcePage>
  )
}

function AdvisoryDetails({ advisory }: { readonly advisory: Advisory }) {
  const { uid, advisoryId, deleteTime } = advisory
  return (
    <>
      <Breadcrumbs uid={uid} name={advisoryId} />
      <div className="page-head">
        <Title text={advisoryId} />
      </div>
      <p className="badges">
        <StateBadge state={currentState(advisory)} />
        <SeverityBadge severities={advisory.severities} />
        {deleteTime !== undefined && <Badge tone="warn">withdrawn</Badge>}
      </p>
      {deleteTime !== undefined && (
        <p className="notice neutral">
          No document contains this advisory any more. Lists do not show it; this page does, as long as its
          folder exists.
        </p>
      )}
      <Id value={uid} label={`the uid of ${advisoryId}`} />
      <Facts facts={factsOf(advisory)} />
      <section>
        <h2>Severity</h2>
        <Severities advisory={advisory} />
      </section>
      <section>
        <h2>Affected images</h2>
        <AffectedImages advisory={advisory} />
      </section>
      <section>
        <h2>History</h2>
        <Timeline advisory={advisory} />
      </section>
      <section>
        <h2>Sources</h2>
        <Sources uid={uid} />
      </section>
      <Equivalent command={`berth advisories describe ${uid}`} />
    </>
  )
}

const text = (value: string): ReactNode => (value === '' ? undefined : <bdi>{value}</bdi>)

function factsOf(advisory: Advisory): readonly (readonly [string, ReactNode])[] {
  const { aliases, artifactName, componentName, artifactType, artifactArchitecture } = advisory
  const { componentType, componentLocation, legacyAdvisoryId = '', author } = advisory
  const isOther = componentName !== '' && componentName !== artifactName
  const versions = versionsOf(advisory)
  return [
    ['Package', text(artifactName)],
    ['Type', text(artifactType)],
    ['Architecture', text(artifactArchitecture)],
    ['Component', isOther ? text(componentName) : undefined],
    ['Type of component', text(componentType)],
    ['Path of component', text(componentLocation)],
    ['Affected versions', versions.affected.length === 0 ? undefined : text(versions.affected.join(', '))],
    ['Fixed in', versions.fixed.length === 0 ? undefined : text(versions.fixed.join(', '))],
    ['Aliases', aliases.length === 0 ? undefined : <Aliases key="aliases" aliases={aliases} />],
    ['Older id', text(legacyAdvisoryId)],
    ['Author', text(author)],
    ['Created', <Time key="created" value={advisory.createTime} />],
    ['Updated', <Time key="updated" value={advisory.updateTime} />],
    [
      'Withdrawn',
      advisory.deleteTime === undefined ? undefined : <Time key="withdrawn" value={advisory.deleteTime} />,
    ],
  ]
}

/** Versions that events name: where it was found, and where it is fixed. */
function versionsOf(advisory: Advisory) {
  const events = newestFirst(advisory).toReversed()
  const affected = events.flatMap(({ detection }) => detection?.scanv1?.artifactVersion || [])
  const fixed = events.flatMap(({ fixed, patched }) => [
    ...(fixed?.fixedVersion ? [fixed.fixedVersion] : []),
    ...(patched?.patchedVersions ?? []),
  ])
  return { affected: [...new Set(affected)], fixed: [...new Set(fixed)] }
}

/** Pages about an id; the browser opens them only if the user follows the link. */
const pages: readonly (readonly [RegExp, (id: string) => string, string])[] = [
  [/^CVE-\d{4}-\d{4,19}$/, (id) => `https://www.cve.org/CVERecord?id=${id}`, 'cve.org'],
  [/^GHSA(-[a-z0-9]{4}){3}$/, (id) => `https://github.com/advisories/${id}`, 'github.com'],
  [/^GO-\d{4}-\d{4,8}$/, (id) => `https://pkg.go.dev/vuln/${id}`, 'pkg.go.dev'],
]

const ALIASES_OPEN = 10

function Aliases({ aliases }: { readonly aliases: readonly string[] }) {
  const [shown, hidden] = [aliases.slice(0, ALIASES_OPEN), aliases.slice(ALIASES_OPEN)]
  return (
    <>
      <AliasList aliases={shown} />
      {hidden.length > 0 && (
        <details>
          <summary>{hidden.length} more</summary>
          <AliasList aliases={hidden} />
        </details>
      )}
    </>
  )
}

function AliasList({ aliases }: { readonly aliases: readonly string[] }) {
  return (
    <ul className="plain-list">
      {aliases.map((alias) => {
        const page = pages.find(([pattern]) => pattern.test(alias))
        return (
          <li key={alias}>
            <Id value={alias} label={alias} />{' '}
            {page !== undefined && (
              <a href={page[1](alias)} target="_blank" rel="noreferrer" aria-label={`${alias} on ${page[2]}`}>
                {page[2]}
              </a>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function Severities({ advisory: { severities } }: { readonly advisory: Advisory }) {
  const rater = useSeverityRater()
  if (severities.length === 0)
    return (
      <p className="muted">
        No document has a score of this vulnerability. Scores come from OSV, CSAF and other documents of this
        folder and of the folders above it.
      </p>
    )
  return (
    <ul className="plain-list severities">
      {severities.map(({ type, score }) => {
        const rating = rater?.rateVector(score)
        const words = explainVector(score)
        return (
          <li key={`${type} ${score}`}>
            <p>
              {rating !== undefined && <RatingBadge rating={rating} />} {versionOfVector(score)}
            </p>
            <Id value={score} label="the vector" />
            {words.length > 0 && (
              <dl className="vector">
                {words.map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ))}
              </dl>
            )}
          </li>
        )
      })}
    </ul>
  )
}
