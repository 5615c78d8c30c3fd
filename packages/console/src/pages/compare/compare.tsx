import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useAddressState } from '../../address-state.ts'
import { manifestQuery } from '../../api/queries/registry/manifests.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { hasStatus, messageOf } from '../../api/query-client.ts'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { shortDigest } from '../../components/digest.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { Comparison } from './comparison.tsx'
import { ImageChoice } from './image-choice.tsx'

/** Two images of a repository, side by side. The address has their digests. */
export function ComparePage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="repository" query={repoQuery(uid)}>
      {({ value }) => <Compare key={uid} repo={uid} name={value.name} />}
    </ResourcePage>
  )
}

function Compare({ repo, name }: { readonly repo: string; readonly name: string }) {
  const [{ from = '', to = '' }, change] = useAddressState()
  const path = usePath(repo, name)
  return (
    <>
      <Breadcrumbs uid={repo} name="Compare" repo={{ uid: repo, name }} />
      <Title text="Compare images" />
      <div className="compare-choices">
        <ImageChoice
          label="First image"
          repo={repo}
          digest={from}
          onChoose={(digest) => change({ from: digest })}
        />
        <ImageChoice
          label="Second image"
          repo={repo}
          digest={to}
          onChoose={(digest) => change({ to: digest })}
        />
      </div>
      {from === '' || to === '' ? (
        <p className="muted">Choose two images by tag or digest.</p>
      ) : (
        <Both repo={repo} from={from} to={to} />
      )}
      {from !== '' && (
        <Equivalent command={`berth images manifests describe ${quoted(path)} ${quoted(from)} -o yaml`} />
      )}
    </>
  )
}

function Both({ repo, from, to }: { readonly repo: string; readonly from: string; readonly to: string }) {
  const [first, second] = [useQuery(manifestQuery(repo, from)), useQuery(manifestQuery(repo, to))]
  for (const [{ error }, digest] of [[first, from] as const, [second, to] as const])
    if (error !== null)
      return (
        <p className="alert" role="alert">
          {hasStatus(error, 404)
            ? `The repository does not contain ${shortDigest(digest)}.`
            : messageOf(error)}
        </p>
      )
  if (first.data === undefined || second.data === undefined)
    return (
      <p className="muted" role="status">
        Loading the images…
      </p>
    )
  return <Comparison repo={repo} before={first.data} after={second.data} />
}
