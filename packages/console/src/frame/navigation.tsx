import { Link, useLocation } from '@tanstack/react-router'
import { House, Menu as MenuIcon, ScrollText, ServerCog, Settings, ShieldAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../api/access.ts'
import { organizationOf } from '../api/queries/groups.ts'
import { FolderTree } from './folder-tree.tsx'

interface NavigationProps {
  /** Of the page, or the first folder in it that the user can see; undefined for pages that belong to none. */
  readonly organization: { readonly uid: string; readonly name: string } | undefined
}

const ICON_SIZE = 18

/** The areas of the console, and the folders of the organization. On narrow screens a button opens it. */
export function Navigation({ organization }: NavigationProps) {
  const access = useAccess()
  const { pathname } = useLocation()
  const [isOpen, setOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: opening a page closes it
  useEffect(() => setOpen(false), [pathname])
  return (
    <>
      <Button
        className="button quiet navigation-button"
        aria-expanded={isOpen}
        aria-controls="navigation"
        onPress={() => setOpen(!isOpen)}
      >
        <MenuIcon aria-hidden size={ICON_SIZE} />
        Menu
      </Button>
      <nav id="navigation" className={isOpen ? 'side open' : 'side'} aria-label="Console">
        <ul className="areas">
          <li>
            <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
              <House aria-hidden size={ICON_SIZE} />
              Home
            </Link>
          </li>
          <li>
            <Link to="/advisories" search={{}}>
              <ShieldAlert aria-hidden size={ICON_SIZE} />
              Advisories
            </Link>
          </li>
          <li>
            <Link to="/audit" search={{}}>
              <ScrollText aria-hidden size={ICON_SIZE} />
              Audit log
            </Link>
          </li>
          {access.holds('', 'operator.get') && (
            <li>
              <Link to="/operator" search={{}}>
                <ServerCog aria-hidden size={ICON_SIZE} />
                Operator
              </Link>
            </li>
          )}
        </ul>
        {organization !== undefined && (
          <>
            <FolderTree key={organization.uid} organization={organization.uid} name={organization.name} />
            <ul className="areas">
              <li>
                <Link to="/settings/$" params={{ _splat: organizationOf(organization.uid) }} search={{}}>
                  <Settings aria-hidden size={ICON_SIZE} />
                  Organization settings
                </Link>
              </li>
            </ul>
          </>
        )}
      </nav>
    </>
  )
}
