import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ancestorNamesQuery } from '../api/queries/paths.ts'

/** The folders above a page. Those that the user cannot open are names without a link. */
export function Breadcrumbs({
  uid,
  name,
  repo,
}: {
  readonly uid: string
  readonly name: string
  /** The repository that the page is in. */
  readonly repo?: { readonly uid: string; readonly name: string } | undefined
}) {
  const { data: ancestors = [] } = useQuery(ancestorNamesQuery(uid))
  // Of an organization, they would only repeat the title.
  if (repo === undefined && !uid.includes('/')) return null
  return (
    <nav className="breadcrumbs" aria-label="Breadcrumbs">
      <ol>
        {ancestors.map((folder) => (
          <li key={folder.uid}>
            {folder.isReadable ? (
              <Link to="/folders/$" params={{ _splat: folder.uid }}>
                {folder.name}
              </Link>
            ) : (
              folder.name
            )}
          </li>
        ))}
        {repo !== undefined && (
          <li>
            <Link to="/repos/$" params={{ _splat: repo.uid }}>
              {repo.name}
            </Link>
          </li>
        )}
        <li aria-current="page">{name}</li>
      </ol>
    </nav>
  )
}

/** The path of a resource, as the command line has it: the uid if its name or a folder above is not known. */
export function usePath(uid: string, name: string | undefined): string {
  const { data: ancestors = [] } = useQuery(ancestorNamesQuery(uid))
  const isComplete = ancestors.length === uid.split('/').length - 1
  return isComplete && name !== undefined ? [...ancestors.map((folder) => folder.name), name].join('/') : uid
}

/** The folder of a resource, from its path or uid. */
export const folderPathOf = (path: string): string => path.slice(0, path.lastIndexOf('/'))
