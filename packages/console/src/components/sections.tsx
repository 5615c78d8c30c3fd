import { Link } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { useAddressState } from '../address-state.ts'

/** A part of a tab, and what shows it. */
export type Section<P> = readonly [id: string, title: string, part: ComponentType<P>]

interface SectionsProps<P> {
  /** For screen readers: "Advisories of this folder". */
  readonly label: string
  /** The tab of the page that the sections are in. */
  readonly tab: string
  readonly sections: readonly Section<P>[]
  /** What each part gets. */
  readonly partProps: P
}

/** The parts of a tab: links to them, and the open one. In the address: `?section=<id>`; the first part is not in the address. */
export function Sections<P extends object>({ label, tab, sections, partProps }: SectionsProps<P>) {
  const [{ section }] = useAddressState()
  const [current, , Part] = sections.find(([id]) => id === section) ?? sections[0] ?? []
  if (Part === undefined) return null
  return (
    <>
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
      <Part {...partProps} />
    </>
  )
}
