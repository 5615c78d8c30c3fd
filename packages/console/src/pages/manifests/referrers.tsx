import { useAccess } from '../../api/access.ts'
import { referrersQuery } from '../../api/queries/registry/manifests.ts'
import { Digest } from '../../components/digest.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Bytes, formatNumber } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import { artifactName } from './manifest-types.ts'

/** What refers to a manifest; the page of each shows what refers to it. */
export function Referrers({ repo, digest }: { readonly repo: string; readonly digest: string }) {
  const access = useAccess()
  return (
    <PageList
      label="Referrers"
      query={referrersQuery(repo, digest)}
      missing={access.missing(repo, 'repo.list') ?? access.missing(repo, 'referrers.list')}
      keyOf={(referrer) => `${referrer.tag} ${referrer.digest}`}
      columns={[
        {
          id: 'kind',
          title: 'Kind',
          cell: (referrer) => (
            <>
              {artifactName(referrer)}
              <span className="second">{referrer.tag || referrer.artifactType}</span>
            </>
          ),
        },
        {
          id: 'digest',
          title: 'Digest',
          cell: (referrer) => <Digest repo={repo} digest={referrer.digest} object={artifactName(referrer)} />,
        },
        { id: 'size', title: 'Size', cell: ({ size }) => <Bytes value={size} /> },
        { id: 'pushed', title: 'Pushed', cell: ({ pushTime }) => <Time value={pushTime} isRelative /> },
        {
          id: 'annotations',
          title: 'Annotations',
          cell: ({ annotations }) =>
            Object.entries(annotations).map(([name, value]) => (
              <span key={name} className="second">
                {name}: {value}
              </span>
            )),
        },
        { id: 'referrers', title: 'Referrers', cell: ({ referrerCount }) => formatNumber(referrerCount) },
      ]}
      empty={<p>Nothing refers to this manifest: it has no signatures, SBOMs or attestations here.</p>}
    />
  )
}
