import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../api/access.ts'
import { foldersQuery, foldersWithRoles, whoAmI } from '../api/queries/groups.ts'
import { resourcesQuery } from '../api/queries/resources.ts'
import { ActionButton } from '../components/action-button.tsx'
import { Equivalent } from '../components/copy.tsx'
import { PageList } from '../components/page-list.tsx'
import { Time } from '../components/time.tsx'
import { Title } from '../components/title.tsx'
import '../styles/pages/home.css'
import { CreateFolderDialog } from './folder/folder-dialogs.tsx'
import { HomeActivity } from './home-activity.tsx'
import { FirstSteps } from './home-steps.tsx'
import { ReceivedInvites } from './received-invites.tsx'

/** The organizations of the user, what happened in them, and what to do first. */
export function HomePage() {
  const access = useAccess()
  const [isCreating, setCreating] = useState(false)
  const organizations = useInfiniteQuery(foldersQuery('/')).data?.pages.flatMap((page) => page.items)
  const { data: user } = useQuery(whoAmI)
  const folders = foldersWithRoles(user)
  const isNew = organizations?.length === 0 && user !== undefined && folders.length === 0
  const first = organizations?.[0] ?? folders[0]
  // The steps are for those who set up an organization.
  const canSetUp = first !== undefined && access.holds(first.uid, 'group_invites.create')
  return (
    <>
      <div className="page-head">
        <Title text="Home" />
        {!isNew && (
          <ActionButton
            label="Create an organization"
            missing={undefined}
            isQuiet
            onPress={() => setCreating(true)}
          />
        )}
      </div>
      <ReceivedInvites />
      {isNew ? (
        <Welcome onCreate={() => setCreating(true)} />
      ) : (
        <>
          {first !== undefined && <QuickActions uid={first.uid} name={first.name} />}
          <section>
            <h2>Organizations</h2>
            <Organizations />
            {folders.length > 0 && <RolesElsewhere folders={folders} />}
          </section>
          {canSetUp && <FirstSteps uid={first.uid} name={first.name} />}
          {first !== undefined && <HomeActivity />}
        </>
      )}
      <Equivalent command="berth iam organizations list" />
      {isCreating && <CreateFolderDialog parent="" onClose={() => setCreating(false)} />}
    </>
  )
}

/** One next step for a user with nothing. */
function Welcome({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <section className="empty welcome">
      <h2>Create your organization</h2>
      <p>
        An organization holds the repositories of your team and defines who can use them. If your team has one
        already, ask a member for an invite instead.
      </p>
      <Button className="button" onPress={onCreate}>
        Create an organization
      </Button>
    </section>
  )
}

function Organizations() {
  return (
    <PageList
      label="Organizations"
      query={foldersQuery('/')}
      keyOf={({ uid }) => uid}
      columns={[
        {
          id: 'name',
          title: 'Name',
          cell: ({ uid, name }) => (
            <Link to="/folders/$" params={{ _splat: uid }}>
              {name}
            </Link>
          ),
        },
        { id: 'description', title: 'Description', cell: ({ description }) => description },
        { id: 'created', title: 'Created', cell: ({ createTime }) => <Time value={createTime} /> },
      ]}
      empty={<p>You can see folders of organizations, but no organization as a whole.</p>}
    />
  )
}

/** Folders of organizations that the user cannot see as a whole. */
function RolesElsewhere({
  folders,
}: {
  readonly folders: readonly { readonly uid: string; readonly name: string }[]
}) {
  const { data } = useQuery(resourcesQuery(folders.map(({ uid }) => uid)))
  return (
    <>
      <h3>Folders that you have roles in</h3>
      <ul className="plain-list">
        {folders.map(({ uid, name }) => (
          <li key={uid}>
            <Link to="/folders/$" params={{ _splat: uid }}>
              {data?.get(uid)?.path ?? name}
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}

function QuickActions({ uid, name }: { readonly uid: string; readonly name: string }) {
  const folder = { to: '/folders/$', params: { _splat: uid } } as const
  return (
    <nav className="quick-actions" aria-label={`Actions in ${name}`}>
      <Link {...folder} search={{ tab: 'repositories' }}>
        Repositories
      </Link>
      <Link {...folder} search={{ tab: 'people' }}>
        People
      </Link>
      <Link {...folder} search={{ tab: 'pull-tokens' }}>
        Pull tokens
      </Link>
      <Link to="/create-identity/$" params={{ _splat: uid }} search={{}}>
        Connect CI
      </Link>
      <Link to="/advisories" search={{}}>
        Advisories
      </Link>
    </nav>
  )
}
