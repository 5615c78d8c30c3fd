import type { ResourceUsage } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { organizationOf } from '../../api/queries/groups.ts'
import { usageQuery } from '../../api/queries/organization.ts'
import { NotLoaded } from '../../components/loaded.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { capabilityName, kinds, titleOf } from './kinds.ts'

/** What is in an organization or folder, with links to it: only an empty one can be deleted. */
export function Blockers({ uid, kind }: { readonly uid: string; readonly kind: string }) {
  const query = useQuery(usageQuery(uid))
  const { data } = query
  if (data === undefined) return <NotLoaded what={`the content of the ${kind}`} query={query} />
  // Tags and manifests are deleted with their repository's images.
  const found = data.resources.filter((one) => one.kind !== 'manifests' && one.used !== '0')
  if (found.length === 0) return <p>The {kind} is empty.</p>
  return (
    <>
      <p>Delete what is in it first:</p>
      <ul>
        {found.map((one) => (
          <li key={one.kind}>
            <Blocker uid={uid} resource={one} />
          </li>
        ))}
      </ul>
    </>
  )
}

function Blocker({ uid, resource }: { readonly uid: string; readonly resource: ResourceUsage }) {
  const { kind, used, missing } = resource
  const known = kinds[kind]
  const title = titleOf(kind)
  const where = known?.page === '/settings/$' ? organizationOf(uid) : uid
  const what =
    known === undefined ? (
      title
    ) : (
      <Link to={known.page} params={{ _splat: where }} search={known.search}>
        {title}
      </Link>
    )
  if (used === undefined)
    return (
      <>
        {what}: <span className="hint">unknown, requires the capability {capabilityName(missing)}</span>
      </>
    )
  return (
    <>
      {what}: {formatNumber(used)}
      {kind === 'role_bindings' && (
        <span className="hint">
          {' '}
          (the one of the user who created the {uid.includes('/') ? 'folder' : 'organization'} does not block)
        </span>
      )}
    </>
  )
}
