import type { RetentionVerdict } from '@berth/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import {
  type PolicyRules,
  retentionPreviewQuery,
  type VerdictPage,
} from '../../api/queries/registry/policies.ts'
import { Badge } from '../../components/badge.tsx'
import { Digest } from '../../components/digest.tsx'
import { CheckboxField } from '../../components/field.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { plural } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

/** What rules would delete and keep, and why, before they are stored. */

export type PreviewCounts = Pick<VerdictPage, 'deletedTags' | 'deletedManifests' | 'keptTags' | 'keptByRule'>

/** The numbers over all pages: each page has them. */
export const previewCounts = (
  data: { readonly pages: readonly unknown[] } | undefined,
): PreviewCounts | undefined => data?.pages[0] as PreviewCounts | undefined

interface PolicyPreviewProps {
  readonly repo: string
  readonly rules: PolicyRules
}

export function PolicyPreview({ repo, rules }: PolicyPreviewProps) {
  const access = useAccess()
  const [{ preview }, change] = useAddressState()
  const missing = ['tag.list', 'manifest.list']
    .map((capability) => access.missing(repo, capability))
    .find((reason) => reason !== undefined)
  const isDeletedOnly = preview !== 'all'
  const query = retentionPreviewQuery(repo, rules, isDeletedOnly)
  const { data, isFetching } = useInfiniteQuery({ ...query, enabled: missing === undefined })
  const counts = previewCounts(data)
  return (
    <section aria-busy={isFetching}>
      <h2>Preview</h2>
      {counts !== undefined && (
        <p role="status">
          {rules.retention.enabled === true
            ? 'The next run deletes '
            : 'If retention were enabled, it would delete '}
          <strong>
            {plural(counts.deletedTags, 'tag')} and {plural(counts.deletedManifests, 'manifest')}
          </strong>
          , and {rules.retention.enabled === true ? 'keeps' : 'keep'} {plural(counts.keptTags, 'tag')}.
        </p>
      )}
      <div className="tab-actions spaced">
        <CheckboxField
          isSelected={isDeletedOnly}
          onChange={(isSelected) => change({ preview: isSelected ? '' : 'all' })}
        >
          Only what is deleted
        </CheckboxField>
      </div>
      <PageList
        label="Tags and manifests"
        query={query}
        missing={missing}
        keyOf={verdictKey}
        columns={verdictColumns(repo)}
        empty={<p>{isDeletedOnly ? 'Nothing would be deleted.' : 'There are no tags.'}</p>}
      />
    </section>
  )
}

export const verdictKey = ({ tag, digest }: RetentionVerdict): string => tag || digest

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** "kept by rule 2". */
function reasonText({ rule, reason }: RetentionVerdict): string {
  return rule > 0 ? `Kept by rule ${rule}` : sentence(reason)
}

export const verdictColumns = (repo: string): readonly PlainColumn<RetentionVerdict>[] => [
  {
    id: 'name',
    title: 'Tag or manifest',
    cell: ({ tag }) => (tag === '' ? <span className="muted">untagged manifest</span> : <bdi>{tag}</bdi>),
  },
  {
    id: 'verdict',
    title: 'Result',
    cell: ({ deleted }) => (deleted ? <Badge tone="bad">deleted</Badge> : <Badge tone="good">kept</Badge>),
  },
  { id: 'reason', title: 'Why', cell: reasonText },
  {
    id: 'digest',
    title: 'Digest',
    cell: ({ tag, digest }) => (
      <Digest repo={repo} digest={digest} object={tag === '' ? 'the manifest' : `the tag ${tag}`} />
    ),
  },
  { id: 'updated', title: 'Updated', cell: ({ updateTime }) => <Time value={updateTime} isRelative /> },
]
