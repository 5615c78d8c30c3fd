import type { EcosystemCoverage, ListImageFindingsResponse } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { organizationOf } from '../../api/queries/groups.ts'
import { plural } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

/** What is known of an image, and what is not. Findings are complete for what is known only. */

type Known = Pick<ListImageFindingsResponse, 'contentsState' | 'matched' | 'coverage' | 'advisoriesTime'>

/** Whether the findings are those of all packages. */
export const isCovered = ({ contentsState, matched, coverage, advisoriesTime }: Known): boolean =>
  contentsState === 'read' &&
  matched &&
  advisoriesTime !== undefined &&
  coverage.every(({ covered }) => covered)

export function Coverage({ repo, summary }: { readonly repo: string; readonly summary: Known }) {
  const { coverage, advisoriesTime } = summary
  const uncovered = coverage.filter(({ covered }) => !covered)
  const covered = coverage.filter((one) => one.covered)
  return (
    <>
      <StateNotice summary={summary} />
      {advisoriesTime === undefined ? (
        <p className="caution">
          The organization has no advisories, so all vulnerabilities are unknown.{' '}
          <Feeds repo={repo} text="Import advisories or add a feed" />
        </p>
      ) : (
        uncovered.length > 0 && (
          <p className="caution">
            Vulnerabilities of {listOf(uncovered)} are unknown: the organization has no advisories about them.{' '}
            <Feeds repo={repo} text="Add a feed" />
          </p>
        )
      )}
      {advisoriesTime !== undefined && (
        <p className="muted coverage">
          {covered.length === 0 ? 'Nothing is covered' : `Covered: ${listOf(covered)}`}. Advisories last
          changed <Time value={advisoriesTime} isRelative />.
        </p>
      )}
    </>
  )
}

function StateNotice({ summary: { contentsState, matched } }: { readonly summary: Known }) {
  if (contentsState === 'pending')
    return (
      <p className="caution" role="status">
        The image is waiting to be read. Its vulnerabilities are unknown until then; this page updates itself.
      </p>
    )
  if (contentsState === 'failed')
    return (
      <p className="alert" role="alert">
        The image could not be read, so its vulnerabilities are unknown. The tab Packages has the reason.
      </p>
    )
  if (contentsState === 'read' && !matched)
    return (
      <p className="caution" role="status">
        The packages are being matched with advisories. This page updates itself.
      </p>
    )
  return null
}

const listOf = (ecosystems: readonly EcosystemCoverage[]): string =>
  ecosystems
    .map(
      ({ ecosystem, packageCount }) =>
        `${plural(packageCount, 'package')} of ${ecosystem === '' ? 'no known ecosystem' : ecosystem}`,
    )
    .join(', ')

function Feeds({ repo, text }: { readonly repo: string; readonly text: string }) {
  return (
    <Link
      to="/folders/$"
      params={{ _splat: organizationOf(repo) }}
      search={{ tab: 'advisories', section: 'feeds' }}
    >
      {text}
    </Link>
  )
}
