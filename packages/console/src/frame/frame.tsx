import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams, useRouter } from '@tanstack/react-router'
import { ChevronDown } from 'lucide-react'
import { Button, Menu, MenuItem, MenuTrigger, Popover, RouterProvider } from 'react-aria-components'
import { useAddressState } from '../address-state.ts'
import { SESSION_ENDED } from '../api/client.ts'
import {
  ancestorsQuery,
  foldersQuery,
  foldersWithRoles,
  organizationOf,
  whoAmI,
} from '../api/queries/groups.ts'
import { SignInLink } from '../components/sign-in-link.tsx'
import { uidIn } from '../uid.ts'
import { Copies } from './copies.tsx'
import { LateFailures } from './late-failures.tsx'
import { Navigation, NavigationButton, useNavigationState } from './navigation.tsx'
import { Search } from './search.tsx'
import { UserMenu } from './user-menu.tsx'

/** What surrounds each page: the header, and the folders of the organization. */
export function Frame() {
  const router = useRouter()
  const uid = uidIn(useParams({ strict: false })._splat ?? '')
  const organizations = useInfiniteQuery(foldersQuery('/'))
  const known = organizations.data?.pages.flatMap((page) => page.items) ?? []
  const { data: ancestors } = useQuery({ ...ancestorsQuery(uid), enabled: uid !== '' })
  const only = useOnlyPlace(organizations.data === undefined || organizations.hasNextPage ? undefined : known)
  // The user may see a folder, and nothing above it. Pages that belong to none have the only one that there is to choose.
  const current =
    known.find((one) => one.uid === organizationOf(uid)) ??
    ancestors?.[0] ??
    (uid === '' || ancestors !== undefined ? only : undefined)
  const [isOpen, setOpen] = useNavigationState()
  // Other pages of the server, such as the account, are documents of their own.
  return (
    <RouterProvider
      navigate={(href) => (href.startsWith('/console') ? router.history.push(href) : location.assign(href))}
    >
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <NavigationButton isOpen={isOpen} onChange={setOpen} />
        <Link to="/" className="wordmark">
          Berth
        </Link>
        <OrganizationSwitcher
          organizations={known}
          current={current?.name}
          hasMore={organizations.hasNextPage}
          onMore={() => void organizations.fetchNextPage()}
        />
        <Search />
        <UserMenu />
      </header>
      <SessionNotice />
      <SetupNotice />
      <Copies />
      <LateFailures />
      <div className="below">
        <Navigation organization={current} isOpen={isOpen} />
        <main id="content" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </RouterProvider>
  )
}

interface Place {
  readonly uid: string
  readonly name: string
}

/** The organization of a user who has one; the folder of a user who has a role in one folder, and sees no organization as a whole. */
function useOnlyPlace(organizations: readonly Place[] | undefined): Place | undefined {
  const { data } = useQuery(whoAmI)
  if (organizations === undefined || organizations.length > 1) return undefined
  if (organizations.length === 1) return organizations[0]
  const folders = foldersWithRoles(data)
  return folders.length === 1 ? folders[0] : undefined
}

interface SwitcherProps {
  readonly organizations: readonly Place[]
  readonly current: string | undefined
  readonly hasMore: boolean
  readonly onMore: () => void
}

function OrganizationSwitcher({ organizations, current, hasMore, onMore }: SwitcherProps) {
  const navigate = useNavigate()
  if (organizations.length === 0) return <span className="switcher-place" />
  return (
    <MenuTrigger>
      <Button className="switcher">
        <span className="unseen">Organization: </span>
        <span className="name">{current ?? 'Choose an organization'}</span>
        <ChevronDown aria-hidden size={16} />
      </Button>
      <Popover className="popover" placement="bottom start">
        <Menu className="menu" aria-label="Organizations">
          {organizations.map(({ uid, name }) => (
            <MenuItem
              key={uid}
              id={uid}
              className="menu-item"
              onAction={() => void navigate({ to: '/folders/$', params: { _splat: uid } })}
            >
              {name}
            </MenuItem>
          ))}
          {hasMore && (
            <MenuItem id="more" className="menu-item muted" onAction={onMore}>
              Load more
            </MenuItem>
          )}
        </Menu>
      </Popover>
    </MenuTrigger>
  )
}

/** After the first account was created. */
function SetupNotice() {
  const [{ done }] = useAddressState()
  if (done !== 'setup') return null
  return (
    <p className="notice" role="status">
      Account created. You own the first organization and administer this server. The{' '}
      <a href="/start">first steps</a> have the commands to push an image, invite a colleague and connect CI.
    </p>
  )
}

/** The page stays as it is, so that nothing typed is lost. */
function SessionNotice() {
  const { data: hasEnded } = useQuery({
    queryKey: SESSION_ENDED,
    queryFn: () => false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })
  if (hasEnded !== true) return null
  return (
    <p className="alert" role="alert">
      You are no longer signed in. <SignInLink />
    </p>
  )
}
