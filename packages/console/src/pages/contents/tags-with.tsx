import type { TagFindingSummary } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { tagsWithQuery } from '../../api/queries/contents/summaries.ts'
import { Command, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Time } from '../../components/time.tsx'
import { FindingPackage, FindingStateBadge, FixedVersion } from './finding-texts.tsx'

interface TagsWithProps {
  readonly repo: string
  readonly path: string
  readonly vulnerability: string
}

/** Which tags of a repository have a vulnerability, and which do not. */
export function TagsWith({ repo, path, vulnerability }: TagsWithProps) {
  return (
    <section>
      <h2>
        <bdi>{vulnerability}</bdi> in the tags of this repository
      </h2>
      <PageList
        label="Tags with the vulnerability"
        query={tagsWithQuery(repo, vulnerability)}
        keyOf={({ tag }) => tag}
        columns={[
          {
            id: 'tag',
            title: 'Tag',
            cell: ({ tag, digest }) => (
              <Link
                to="/manifests/$"
                params={{ _splat: `${repo}/${digest}` }}
                search={{ tab: 'vulnerabilities', vulnerability }}
              >
                <bdi>{tag}</bdi>
              </Link>
            ),
          },
          { id: 'state', title: 'State', cell: (summary) => <State summary={summary} /> },
          {
            id: 'package',
            title: 'Package',
            cell: ({ findings: [finding] }) => finding !== undefined && <FindingPackage finding={finding} />,
          },
          {
            id: 'fixed',
            title: 'Fixed in',
            cell: ({ findings: [finding] }) => finding !== undefined && <FixedVersion finding={finding} />,
          },
          {
            id: 'since',
            title: 'Since',
            cell: ({ updateTime }) => <Time value={updateTime} isRelative />,
          },
        ]}
        empty={<p>The repository has no tags.</p>}
      />
      <Command
        text={`berth images vulns-by-tag ${quoted(path)} --vulnerability ${quoted(vulnerability)}`}
        label="the command that lists these tags"
      />
    </section>
  )
}

/** Not finding it says nothing about an image that is not read. */
function State({ summary: { contentsState, matched, findings } }: { readonly summary: TagFindingSummary }) {
  const [finding] = findings
  if (finding !== undefined) return <FindingStateBadge state={finding.state} />
  if (contentsState === 'none') return <span className="muted">no image</span>
  if (contentsState !== 'read') return <span className="muted">not read</span>
  return matched ? 'not found' : <span className="muted">being matched</span>
}
