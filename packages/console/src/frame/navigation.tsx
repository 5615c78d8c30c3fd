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
  /** On narrow screens. */
  readonly isOpen: boolean
}

const ICON_SIZE = 18

/** Whether the navigation is open on a narrow screen: opening a page closes it. */
export function useNavigationState(): [boolean, (isOpen: boolean) => void] {
  const { pathname } = useLocation()
  const [isOpen, setOpen] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: of every page
  useEffect(() => setOpen(false), [pathname])
  return [isOpen, setOpen]
}

interface NavigationButtonProps {
  readonly isOpen: boolean
  readonly onChange: (isOpen: boolean) => void
}

/** Opens the navigation on narrow screens. */
export function NavigationButton({ isOpen, onChange }: NavigationButtonProps) {
  return (
    <Button
      className="icon-button navigation-button"
      aria-label="Navigation"
      aria-expanded={isOpen}
      aria-controls="navigation"
      onPress={() => onChange(!isOpen)}
    >
      <MenuIcon aria-hidden size={ICON_SIZE} />
    </Button>
  )
}

/** The areas of the console, and the folders of the organization. */
export function Navigation({ organization, isOpen }: NavigationProps) {
  const access = useAccess()
  return (
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
          {organization.uid === organizationOf(organization.uid) && (
            <ul className="areas">
              <li>
                <Link to="/settings/$" params={{ _splat: organization.uid }} search={{}}>
                  <Settings aria-hidden size={ICON_SIZE} />
                  Organization settings
                </Link>
              </li>
            </ul>
          )}
        </>
      )}
    </nav>
  )
}
