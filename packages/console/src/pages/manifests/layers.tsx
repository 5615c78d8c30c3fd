import type { ManifestLayer } from '@berth/client'
import { Id } from '../../components/copy.tsx'
import { LongText } from '../../components/long-text.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Bytes } from '../../components/quantity.tsx'
import { SizeBar } from '../../components/size-bar.tsx'
import { shortMediaType } from './manifest-types.ts'

/** The layers of an image with the step that created each, or the files of an artifact. */
export function Layers({ layers }: { readonly layers: readonly ManifestLayer[] }) {
  if (layers.length === 0) return <p className="muted">There are none.</p>
  const largest = Math.max(...layers.map(({ size }) => Number(size)))
  return (
    <PlainTable
      label="Layers"
      items={layers}
      keyOf={({ digest }, at) => `${at} ${digest}`}
      columns={[
        {
          id: 'layer',
          title: 'Layer',
          cell: ({ createdBy, title }, at) => (
            <>
              <span className="muted">{at + 1}</span> <LongText text={createdBy || title} />
            </>
          ),
        },
        {
          id: 'size',
          title: 'Size',
          cell: ({ size }) => (
            <span className="sized">
              <Bytes value={size} />
              <SizeBar value={Number(size)} max={largest} />
            </span>
          ),
        },
        {
          id: 'digest',
          title: 'Digest',
          cell: ({ digest }, at) => <Id value={digest} label={`the digest of layer ${at + 1}`} />,
        },
        { id: 'type', title: 'Media type', cell: ({ mediaType }) => shortMediaType(mediaType) },
      ]}
    />
  )
}
