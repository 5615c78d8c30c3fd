import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ancestorsQuery } from '../api/queries.ts'

/** The folders above a page. Those that the user cannot see are not shown. */
export function Breadcrumbs({ uid, name }: { readonly uid: string; readonly name: string }) {
  const { data: ancestors = [] } = useQuery(ancestorsQuery(uid))
  return (
    <nav className="breadcrumbs" aria-label="Breadcrumbs">
      <ol>
        {ancestors.map((folder) => (
          <li key={folder.uid}>
            <Link to="/folders/$" params={{ _splat: folder.uid }}>
              {folder.name}
            </Link>
          </li>
        ))}
        <li aria-current="page">{name}</li>
      </ol>
    </nav>
  )
}

/** The path of a resource, as the command line has it: the uid if a folder above is not visible. */
export function usePath(uid: string, name: string): string {
  const { data: ancestors = [] } = useQuery(ancestorsQuery(uid))
  const isComplete = ancestors.length === uid.split('/').length - 1
  return isComplete ? [...ancestors.map((folder) => folder.name), name].join('/') : uid
}
