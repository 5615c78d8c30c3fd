import { Link } from '@tanstack/react-router'

interface AboutLinksProps {
  /** uid of the resource. */
  readonly uid: string
  /** Who can do what: in a folder or repository, or what an identity can do in its folder. Without, the resource belongs to no folder. */
  readonly access?: { readonly place: string; readonly identity?: string } | undefined
}

/** Links from a resource to who has access, and to what happened to it. They are beside the title of its page. */
export function AboutLinks({ uid, access }: AboutLinksProps) {
  return (
    <>
      {access !== undefined && (
        <Link
          to="/access/$"
          params={{ _splat: access.place }}
          search={access.identity === undefined ? {} : { identity: access.identity }}
          className="button quiet"
        >
          Access
        </Link>
      )}
      <Link to="/audit" search={{ resource: uid, range: 'all' }} className="button quiet">
        Audit log
      </Link>
    </>
  )
}
