import type { IndexEntry } from '@berth/client'
import { Badge } from '../../components/badge.tsx'
import { Digest, shortDigest } from '../../components/digest.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Bytes } from '../../components/quantity.tsx'
import { shortMediaType } from './manifest-types.ts'

/** The entries of an index: an image for each platform, and attestations about them. */
export function Entries({
  repo,
  entries,
}: {
  readonly repo: string
  readonly entries: readonly IndexEntry[]
}) {
  if (entries.length === 0) return <p className="muted">The index is empty.</p>
  const platformOf = new Map(entries.map(({ digest, platform }) => [digest, platform]))
  return (
    <PlainTable
      label="Platforms"
      items={entries}
      keyOf={({ digest }, at) => `${at} ${digest}`}
      columns={[
        {
          id: 'platform',
          title: 'Platform',
          cell: ({ platform, describes }) =>
            describes === ''
              ? platform || <span className="muted">none</span>
              : `Attestation of ${platformOf.get(describes) || shortDigest(describes)}`,
        },
        {
          id: 'digest',
          title: 'Digest',
          cell: ({ digest, platform, present }) =>
            present ? (
              <Digest repo={repo} digest={digest} object={platform || 'the entry'} />
            ) : (
              <>
                <code title={digest}>{shortDigest(digest)}</code>
                <Badge tone="bad" title="The repository does not have this manifest">
                  missing
                </Badge>
              </>
            ),
        },
        {
          id: 'size',
          title: 'Size',
          cell: ({ imageSize }) =>
            imageSize === undefined ? <span className="muted">unknown</span> : <Bytes value={imageSize} />,
        },
        { id: 'type', title: 'Media type', cell: ({ mediaType }) => shortMediaType(mediaType) },
      ]}
    />
  )
}
