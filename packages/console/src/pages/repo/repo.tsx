import type { Repo } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { ancestorsQuery, readmeQuery, repoQuery, tagsQuery, type Versioned } from '../../api/queries.ts'
import { hasStatus, messageOf } from '../../api/query-client.ts'
import { session } from '../../api/session.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Command, Equivalent, Id, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Problem } from '../../components/problem.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import { NotFound } from '../not-found.tsx'
import { DeleteRepoDialog, EditRepoDialog } from './repo-dialogs.tsx'

const Readme = lazy(() => import('./readme.tsx').then((module) => ({ default: module.Readme })))

/** A repository: how to use it, its tags, and its README. */
export function RepoPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery(repoQuery(uid))
  if (data !== undefined) return <Repository key={uid} repo={data} />
  if (error === null)
    return (
      <p className="muted" role="status">
        Loading the repository…
      </p>
    )
  if ([400, 403, 404].some((status) => hasStatus(error, status)) || error instanceof TypeError)
    return <NotFound />
  return <Problem title="Repository not available" failure={error} onRetry={() => void refetch()} />
}

function Repository({ repo }: { readonly repo: Versioned<Repo> }) {
  const { uid, name, description } = repo.value
  const access = useAccess()
  const path = usePath(uid, name)
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
            missing={access.missing(uid, 'repo.update')}
            onPress={() => setDialog('edit')}
          />
          <ActionButton
            label="Delete"
            isQuiet
            missing={access.missing(uid, 'repo.delete')}
            onPress={() => setDialog('delete')}
          />
        </div>
      </div>
      {description !== '' && <p className="description">{description}</p>}
      <Id value={uid} label={`the uid of ${name}`} />
      <Usage uid={uid} path={path} />
      <section>
        <h2>Tags</h2>
        <PageList
          label="Tags"
          query={tagsQuery(uid)}
          missing={access.missing(uid, 'tag.list')}
          keyOf={(tag) => tag.uid}
          columns={[
            {
              id: 'name',
              title: 'Tag',
              cell: (tag) => (
                <>
                  {tag.name}
                  {tag.deprecated && <span className="badge">end of life</span>}
                </>
              ),
            },
            {
              id: 'digest',
              title: 'Digest',
              cell: (tag) => <Id value={tag.digest} label={`the digest of ${tag.name}`} />,
            },
            { id: 'updated', title: 'Updated', cell: (tag) => <Time value={tag.updateTime} /> },
          ]}
          empty={<p>There are no tags yet. Push an image with the commands above.</p>}
        />
      </section>
      <ReadmeSection uid={uid} />
      <Equivalent command={`berth images tags list ${quoted(path)} --all`} />
      {dialog === 'edit' && <EditRepoDialog repo={repo} onClose={close} />}
      {dialog === 'delete' && <DeleteRepoDialog repo={repo} onClose={close} />}
    </>
  )
}

/** Commands with the real host and path; container tools cannot address a repository by its uid. */
function Usage({ uid, path }: { readonly uid: string; readonly path: string }) {
  const { isPending } = useQuery(ancestorsQuery(uid))
  if (isPending) return null
  const isAddressable = path !== uid && /^[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$/.test(path)
  return (
    <section>
      <h2>Use</h2>
      {isAddressable ? (
        <>
          <Command text="berth auth configure-docker" label="the command for docker" />
          <Command text={`docker pull ${session.registryHost}/${path}:latest`} label="the pull command" />
          <Command text={`docker push ${session.registryHost}/${path}:latest`} label="the push command" />
        </>
      ) : (
        <p className="muted">
          {path === uid
            ? 'You do not see all folders above this repository, so its image name is not known here. Ask an administrator for it.'
            : `Container tools cannot use the name ${path}: each part begins and ends with a letter or digit, and has no spaces.`}
        </p>
      )}
    </section>
  )
}

function ReadmeSection({ uid }: { readonly uid: string }) {
  const { data, error } = useQuery(readmeQuery(uid))
  if (error !== null)
    return (
      <section>
        <h2>README</h2>
        <p className="muted">{messageOf(error)}</p>
      </section>
    )
  if (data === undefined || data.content === '') return null
  return (
    <section>
      <h2>README</h2>
      <Suspense fallback={<p className="muted">Loading the README…</p>}>
        <Readme content={data.content} />
      </Suspense>
    </section>
  )
}
