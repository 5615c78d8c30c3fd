import { Link } from '@tanstack/react-router'

interface SectionsProps {
  /** For screen readers: "Advisories of this folder". */
  readonly label: string
  /** The tab of the page that the sections are in. */
  readonly tab: string
  readonly sections: readonly (readonly [id: string, title: string, ...rest: unknown[]])[]
  readonly current: string
}

/** Links to the parts of a tab. In the address: `?section=<id>`; the first part is not in the address. */
export function Sections({ label, tab, sections, current }: SectionsProps) {
  return (
    <nav aria-label={label}>
      <ul className="sections">
        {sections.map(([id, title], at) => (
          <li key={id}>
            <Link
              to="."
              search={{ tab, ...(at > 0 && { section: id }) }}
              activeOptions={{ exact: true, includeSearch: true }}
              {...(id === current && { 'aria-current': 'page' as const })}
            >
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
