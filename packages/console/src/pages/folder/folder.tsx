import type { Group, Identity } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Tab, TabList, TabPanel, Tabs } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { folderQuery, foldersQuery, identitiesQuery, reposQuery, type Versioned } from '../../api/queries.ts'
import { hasStatus } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, Id, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import type { FolderTab } from '../../router.tsx'
import { NotFound } from '../not-found.tsx'
import { CreateRepoDialog } from '../repo/repo-dialogs.tsx'
import { CreateFolderDialog, DeleteFolderDialog, EditFolderDialog } from './folder-dialogs.tsx'
import { People } from './people.tsx'

/** A folder or an organization: what is in it, and who has roles in it. */
export function FolderPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery(folderQuery(uid))
  if (data !== undefined) return <Folder key={uid} folder={data} />
  if (error === null)
    return (
      <p className="muted" role="status">
        Loading the folder…
      </p>
    )
  // A uid that is none, one that does not exist, and one that the user cannot see.
  if ([400, 403, 404].some((status) => hasStatus(error, status)) || error instanceof TypeError)
    return <NotFound />
  return <Problem title="Folder not available" failure={error} onRetry={() => void refetch()} />
}

const tabTitles: readonly (readonly [FolderTab, string])[] = [
  ['folders', 'Folders'],
  ['repositories', 'Repositories'],
  ['people', 'People'],
  ['identities', 'Identities'],
]

function Folder({ folder }: { readonly folder: Versioned<Group> }) {
  const { uid, name, description, status } = folder.value
  const kind = uid.includes('/') ? 'folder' : 'organization'
  const { tab = 'folders' } = useSearch({ strict: false }) as { tab?: FolderTab }
  const navigate = useNavigate()
  const access = useAccess()
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <Breadcrumbs uid={uid} name={name} />
      <div className="page-head">
        <Title text={name} />
        <div className="page-actions">
          <ActionButton
            label="Edit"
            isQuiet
            missing={access.missing(uid, 'groups.update')}
            onPress={() => setDialog('edit')}
          />
          <ActionButton
            label="Delete"
            isQuiet
            missing={access.missing(uid, 'groups.delete')}
            onPress={() => setDialog('delete')}
          />
        </div>
      </div>
      {status === 'ORG_STATUS_SUSPENDED' && (
        <p className="alert" role="alert">
          The operator has suspended this organization.
        </p>
      )}
      {description !== '' && <p className="description">{description}</p>}
      <Id value={uid} label={`the uid of ${name}`} />
      <Tabs
        selectedKey={tab}
        onSelectionChange={(next) =>
          void navigate({ to: '/folders/$', params: { _splat: uid }, search: { tab: next as FolderTab } })
        }
      >
        <TabList className="tabs" aria-label={`Contents of ${name}`}>
          {tabTitles.map(([id, title]) => (
            <Tab key={id} id={id} className="tab">
              {title}
            </Tab>
          ))}
        </TabList>
        <TabPanel id="folders">
          <Folders uid={uid} name={name} />
        </TabPanel>
        <TabPanel id="repositories">
          <Repositories uid={uid} name={name} />
        </TabPanel>
        <TabPanel id="people">
          <People uid={uid} name={name} />
        </TabPanel>
        <TabPanel id="identities">
          <Identities uid={uid} name={name} />
        </TabPanel>
      </Tabs>
      {dialog === 'edit' && <EditFolderDialog folder={folder} kind={kind} onClose={close} />}
      {dialog === 'delete' && <DeleteFolderDialog folder={folder} kind={kind} onClose={close} />}
    </>
  )
}

interface TabProps {
  readonly uid: string
  readonly name: string
}

function Folders({ uid, name }: TabProps) {
  const [isCreating, setCreating] = useState(false)
  const path = usePath(uid, name)
  const missing = useAccess().missing(uid, 'groups.create')
  return (
    <>
      <div className="tab-actions">
        <ActionButton label="Create a folder" missing={missing} onPress={() => setCreating(true)} />
      </div>
      <PageList
        label="Folders"
        query={foldersQuery(uid)}
        keyOf={(folder) => folder.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: (folder) => (
              <Link to="/folders/$" params={{ _splat: folder.uid }}>
                {folder.name}
              </Link>
            ),
          },
          { id: 'description', title: 'Description', cell: (folder) => folder.description },
          { id: 'created', title: 'Created', cell: (folder) => <Time value={folder.createTime} /> },
        ]}
        empty={
          <p>
            There are no folders yet. Folders divide an organization into teams; a role applies to everything
            below its folder.
          </p>
        }
      />
      <Equivalent command={`berth iam folders list ${quoted(path)}`} />
      {isCreating && <CreateFolderDialog parent={uid} onClose={() => setCreating(false)} />}
    </>
  )
}

function Repositories({ uid, name }: TabProps) {
  const [isCreating, setCreating] = useState(false)
  const path = usePath(uid, name)
  const access = useAccess()
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Create a repository"
          missing={access.missing(uid, 'repo.create')}
          onPress={() => setCreating(true)}
        />
      </div>
      <PageList
        label="Repositories"
        query={reposQuery(uid)}
        missing={access.missing(uid, 'repo.list')}
        keyOf={(repo) => repo.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: (repo) => (
              <Link to="/repos/$" params={{ _splat: repo.uid }}>
                {repo.name}
              </Link>
            ),
          },
          { id: 'description', title: 'Description', cell: (repo) => repo.description },
          { id: 'updated', title: 'Updated', cell: (repo) => <Time value={repo.updateTime} /> },
        ]}
        empty={<p>There are no repositories yet. Create one, and push an image to it.</p>}
      />
      <Equivalent command={`berth images repos list --parent ${quoted(path)}`} />
      {isCreating && <CreateRepoDialog parent={uid} onClose={() => setCreating(false)} />}
    </>
  )
}

function Identities({ uid, name }: TabProps) {
  const path = usePath(uid, name)
  const missing = useAccess().missing(uid, 'identity.list')
  return (
    <>
      <PageList
        label="Identities"
        query={identitiesQuery(uid)}
        missing={missing}
        keyOf={(identity) => identity.uid}
        columns={[
          { id: 'name', title: 'Name', cell: (identity) => identity.name },
          { id: 'trusts', title: 'Trusts', cell: (identity) => trustOf(identity) },
          { id: 'seen', title: 'Last seen', cell: (identity) => <Time value={identity.lastSeenTime} /> },
          {
            id: 'uid',
            title: 'Uid',
            cell: (identity) => <Id value={identity.uid} label={`the uid of ${identity.name}`} />,
          },
        ]}
        empty={
          <p>
            There are no identities yet. An identity lets a workload, such as a CI job, use the tokens that
            its platform gives it: no secret is stored.
          </p>
        }
      />
      <Equivalent command={`berth iam identities list --parent ${quoted(path)}`} />
    </>
  )
}

function trustOf({ claimMatch, staticKeys, awsIdentity, servicePrincipal }: Identity): string {
  const issuer = claimMatch?.issuer || claimMatch?.issuerPattern || staticKeys?.issuer
  if (issuer) return issuer
  if (awsIdentity !== undefined) return `AWS account ${awsIdentity.awsAccount}`
  return servicePrincipal ?? 'nothing'
}
