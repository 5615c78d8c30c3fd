import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Circle, CircleCheck } from 'lucide-react'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { foldersQuery, whoAmI } from '../api/queries.ts'
import { session } from '../api/session.ts'
import { ActionButton } from '../components/action-button.tsx'
import { Command, Equivalent } from '../components/copy.tsx'
import { PageList } from '../components/page-list.tsx'
import { Time } from '../components/time.tsx'
import { Title } from '../components/title.tsx'
import { CreateFolderDialog } from './folder/folder-dialogs.tsx'

/** The organizations of the user, and what to do first. */
export function HomePage() {
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      <div className="page-head">
        <Title text="Home" />
        <ActionButton
          label="Create an organization"
          missing={undefined}
          isQuiet
          onPress={() => setCreating(true)}
        />
      </div>
      <section>
        <h2>Organizations</h2>
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
          empty={
            <p>
              You are in no organization. Create one, or ask a member of an existing organization for an
              invite.
            </p>
          }
        />
      </section>
      <RolesElsewhere />
      <FirstSteps />
      <Equivalent command="berth iam organizations list" />
      {isCreating && <CreateFolderDialog parent="" onClose={() => setCreating(false)} />}
    </>
  )
}

/** Folders of organizations that the user cannot see as a whole. */
function RolesElsewhere() {
  const { data } = useQuery(whoAmI)
  const folders = (data?.capabilities ?? []).flatMap(({ group }) => (group?.id.includes('/') ? [group] : []))
  if (folders.length === 0) return null
  return (
    <section>
      <h2>Folders that you have roles in</h2>
      <ul className="plain-list">
        {folders.map(({ id, name }) => (
          <li key={id}>
            <Link to="/folders/$" params={{ _splat: id }}>
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Each step is done as soon as the server knows a result of it. */
function FirstSteps() {
  const { data: pages } = useInfiniteQuery(foldersQuery('/'))
  const organization = pages?.pages[0]?.items[0]
  const uid = organization?.uid ?? ''
  const { data: counts } = useQuery({
    queryKey: ['first-steps', uid],
    enabled: uid !== '',
    queryFn: async ({ signal }) => {
      const uidp = { descendantsOf: uid }
      const [repos, tags, bindings, identities] = await Promise.all([
        api.repos.list({ uidp, pageSize: 1 }, { signal }),
        api.tags.list({ uidp, pageSize: 1 }, { signal }),
        api.roleBindings.list({ uidp, pageSize: 1 }, { signal }),
        api.identities.list({ uidp, pageSize: 1 }, { signal }),
      ])
      return {
        repo: repos.repos.length > 0,
        image: tags.tags.length > 0,
        colleague: Number(bindings.totalCount ?? 0) > 1,
        ci: identities.identities.length > 0,
      }
    },
  })
  if (organization === undefined || counts === undefined) return null
  if (Object.values(counts).every(Boolean)) return null
  const image = `${session.registryHost}/${organization.name}/app:1.0`
  const toPeople = (
    <Link to="/folders/$" params={{ _splat: uid }} search={{ tab: 'people' }}>
      Open the people of {organization.name}
    </Link>
  )
  return (
    <section>
      <h2>First steps in {organization.name}</h2>
      <ul className="steps">
        <Step isDone={counts.repo} title="Create a repository">
          <Link to="/folders/$" params={{ _splat: uid }} search={{ tab: 'repositories' }}>
            Open the repositories of {organization.name}
          </Link>
        </Step>
        <Step isDone={counts.image} title="Push an image">
          <Command text="berth auth configure-docker" label="the command for docker" />
          <Command text={`docker push ${image}`} label="the push command" />
        </Step>
        <Step isDone={counts.colleague} title="Invite a colleague">
          {toPeople}
        </Step>
        <Step isDone={counts.ci} title="Connect CI">
          <Command
            text={`berth iam identities create github ci --github-repo acme/app --github-ref refs/heads/main --parent ${organization.name} --role registry.push`}
            label="the command for GitHub"
          />
        </Step>
      </ul>
    </section>
  )
}

function Step({
  isDone,
  title,
  children,
}: {
  readonly isDone: boolean
  readonly title: string
  readonly children: React.ReactNode
}) {
  return (
    <li className={isDone ? 'done' : ''}>
      {isDone ? <CircleCheck aria-hidden size={20} /> : <Circle aria-hidden size={20} />}
      <div>
        <h3>
          {title}
          <span className="unseen">{isDone ? ' (done)' : ' (to do)'}</span>
        </h3>
        {!isDone && children}
      </div>
    </li>
  )
}
