import type { ServerNode } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { nodesQuery } from '../../api/queries/operator.ts'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Time } from '../../components/time.tsx'

/** The server processes that use the database. */

export function Nodes() {
  const query = useQuery(nodesQuery)
  const { data } = query
  if (data === undefined) return <NotLoaded what="nodes" query={query} />
  const { nodes, database, migrations, unknownMigrations } = data
  const versions = new Set(nodes.map(({ version }) => version))
  return (
    <>
      {versions.size > 1 && (
        <p className="caution" role="status">
          Nodes have different versions. Complete the upgrade within a day.
        </p>
      )}
      {unknownMigrations.length > 0 && (
        <p className="alert" role="alert">
          A newer version has migrated the database: {unknownMigrations.join(', ')}.
        </p>
      )}
      <PlainTable
        label="Nodes"
        items={nodes}
        keyOf={({ id }) => id}
        columns={[
          { id: 'name', title: 'Name', cell: (node) => <Name node={node} /> },
          { id: 'version', title: 'Version', cell: ({ version }) => version },
          { id: 'listen', title: 'Listens on', cell: ({ listenAddress }) => listenAddress },
          { id: 'url', title: 'Address for clients', cell: ({ baseUrl }) => baseUrl },
          { id: 'started', title: 'Started', cell: ({ startTime }) => <Time value={startTime} isRelative /> },
          {
            id: 'seen',
            title: 'Last seen',
            cell: ({ lastSeenTime }) => <Time value={lastSeenTime} isRelative />,
          },
        ]}
      />
      <Facts
        facts={[
          ['Database', database === 'sqlite' ? 'SQLite' : 'PostgreSQL'],
          ['Migrations', `${migrations.length}, last ${migrations.at(-1) ?? 'none'}`],
        ]}
      />
      <Equivalent command="berth admin check" />
    </>
  )
}

function Name({ node: { name, online, current } }: { readonly node: ServerNode }) {
  return (
    <span className="named">
      {name}
      {current && <Badge>this node</Badge>}
      {!online && <Badge tone="bad">offline</Badge>}
    </span>
  )
}
