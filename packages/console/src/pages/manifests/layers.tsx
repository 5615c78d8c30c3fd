import type { ManifestLayer } from '@berth/client'
import { Id } from '../../components/copy.tsx'
import { LongText } from '../../components/long-text.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Bytes } from '../../components/quantity.tsx'
import { SizeBar } from '../../components/size-bar.tsx'
import { shortMediaType } from './manifest-types.ts'

interface LayersProps {
  readonly layers: readonly ManifestLayer[]
  /** What they are. */
  readonly of: 'layer' | 'file'
}

/** The layers of an image with the step that created each, or the files of an artifact. */
export function Layers({ layers, of }: LayersProps) {
  if (layers.length === 0) return <p className="muted">There are none.</p>
  const largest = Math.max(...layers.map(({ size }) => Number(size)))
  return (
    <PlainTable
      label={of === 'layer' ? 'Layers' : 'Files'}
      items={layers}
      keyOf={({ digest }, at) => `${at} ${digest}`}
      columns={[
        {
          id: 'layer',
          title: of === 'layer' ? 'Layer' : 'File',
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
          cell: ({ digest }, at) => <Id value={digest} label={`the digest of ${of} ${at + 1}`} />,
        },
        { id: 'type', title: 'Media type', cell: ({ mediaType }) => shortMediaType(mediaType) },
      ]}
    />
  )
}
