import type { AdvisorySource } from '@berth/client'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

export const formatNames: Readonly<Record<string, string>> = {
  wolfi: 'Wolfi',
  osv: 'OSV',
  secdb: 'Security database',
  openvex: 'OpenVEX',
  csaf: 'CSAF',
  kev: 'KEV catalog',
  epss: 'EPSS catalog',
}

export const documentColumns: readonly PlainColumn<AdvisorySource>[] = [
  {
    id: 'id',
    title: 'Document',
    cell: ({ id, name }) => (
      <>
        <bdi className="document-id">{id}</bdi>
        {name !== '' && <bdi className="second">{name}</bdi>}
      </>
    ),
  },
  { id: 'format', title: 'Format', cell: ({ format }) => formatNames[format] ?? format },
  {
    id: 'revision',
    title: 'Revision',
    cell: ({ revisionTime }) => <Time value={revisionTime} absent="not stated" />,
  },
  { id: 'imported', title: 'Imported', cell: ({ importTime }) => <Time value={importTime} isRelative /> },
  {
    id: 'unmapped',
    title: 'Unmapped fields',
    cell: ({ unmapped }) => (
      <span title={unmapped.map(({ path, count }) => `${path} (${count})`).join('\n')}>
        {formatNumber(unmapped.length)}
      </span>
    ),
  },
]
