import { queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { folderQuery } from '../../api/queries/groups.ts'
import { explanationQuery, type MemberPage, whoCanQuery } from '../../api/queries/iam/members.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { resourcesQuery } from '../../api/queries/resources.ts'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { IdentityPicker } from '../../components/identity-picker.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PageList } from '../../components/page-list.tsx'
import { PageTabs } from '../../components/page-tabs.tsx'
import { usePickedInAddress } from '../../components/picker-filter.tsx'
import { ChoicePicker } from '../../components/pickers.tsx'
import { Problem } from '../../components/problem.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { capabilityNamed, knownCapabilities, permits } from '../roles/capability-groups.ts'
import { Explanation } from './explanation.tsx'
import { Hidden, kindName, MemberName, Sources } from './members.tsx'
import '../../styles/pages/access.css'

/** Who can do what in a folder or a repository, and why. What is asked is in the address. */
export function AccessPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="folder or repository" query={placeQuery(uid)}>
      {({ name, isRepo }) => <AccessReport key={uid} uid={uid} name={name} isRepo={isRepo} />}
    </ResourcePage>
  )
}

/** The uid of a folder or of a repository: one of the two exists. */
const placeQuery = (uid: string) =>
  queryOptions({
    queryKey: ['place', uid],
    queryFn: async ({ client }) => {
      try {
        const { value } = await client.fetchQuery(folderQuery(uid))
        return { name: value.name, isRepo: false }
      } catch (failure) {
        if (!uid.includes('/')) throw failure
        const { value } = await client.fetchQuery(repoQuery(uid))
        return { name: value.name, isRepo: true }
      }
    },
  })

interface PlaceProps {
  readonly uid: string
  readonly name: string
}

function AccessReport({ uid, name, isRepo }: PlaceProps & { readonly isRepo: boolean }) {
  const missing = useAccess().missing(uid, 'role_bindings.list')
  return (
    <>
      <Breadcrumbs uid={uid} name={name} />
      <Title text={`Access to ${name}`} />
      <p className="description">
        Explains who can do what in{' '}
        <Link to={isRepo ? '/repos/$' : '/folders/$'} params={{ _splat: uid }}>
          <bdi>{name}</bdi>
        </Link>
        , with the roles from here and from all folders above.
      </p>
      {missing !== undefined ? (
        <NoPermission label="access" reason={missing} />
      ) : (
        <PageTabs
          label="Questions"
          tabs={[
            {
              id: 'explain',
              title: 'Why can someone do this',
              content: () => <Explain uid={uid} name={name} />,
            },
            { id: 'who-can', title: 'Who can do this', content: () => <WhoCan uid={uid} name={name} /> },
          ]}
        />
      )}
    </>
  )
}

/** The capabilities of the console, found by their names and by what they permit. */
const capabilityChoices = queryOptions({
  queryKey: ['capability-choices'],
  queryFn: () =>
    Promise.resolve(knownCapabilities.map(({ name, description }) => ({ id: name, name, description }))),
  staleTime: Number.POSITIVE_INFINITY,
})

function CapabilityPicker({ label }: { readonly label: string }) {
  const [capability, choose] = usePickedInAddress('capability')
  return (
    <ChoicePicker
      label={label}
      query={capabilityChoices}
      value={capability}
      onChange={choose}
      {...(capabilityNamed(capability) !== undefined && {
        hint: capabilityNamed(capability)?.description ?? '',
      })}
    />
  )
}

function Explain({ uid, name }: PlaceProps) {
  const path = usePath(uid, name)
  const [{ identity = '', capability = '' }] = useAddressState()
  const [picked, pick] = usePickedInAddress('identity')
  const isAsked = identity !== '' && capability !== ''
  const { data, error, refetch } = useQuery({
    ...explanationQuery(uid, identity, capability),
    enabled: isAsked,
  })
  // An identity that the user chooses has its name; one of the address, before there is an explanation, does not.
  const [given] = useState(identity)
  const { data: names } = useQuery(resourcesQuery([given]))
  const givenName = identity === given ? names?.get(given)?.name : undefined
  return (
    <>
      <div className="page-form">
        <IdentityPicker
          label="Person or workload"
          folder={uid}
          value={picked}
          onChange={pick}
          name={picked === identity ? data?.identity?.name || givenName || undefined : undefined}
        />
        <CapabilityPicker label="Capability" />
      </div>
      <section className="result" aria-label="Explanation" aria-live="polite">
        {!isAsked && <p className="muted">Choose a person or workload and a capability.</p>}
        {isAsked && data === undefined && error === null && <p className="muted">Loading the explanation…</p>}
        {isAsked && error !== null && (
          <Problem title="Explanation not available" failure={error} onRetry={() => void refetch()} />
        )}
        {isAsked && data !== undefined && (
          <Explanation explanation={data} capability={capability} place={name} />
        )}
      </section>
      <Equivalent
        command={`berth iam access explain ${quoted(path)} --identity ${identity || 'IDENTITY'} --capability ${capability || 'CAPABILITY'}`}
      />
    </>
  )
}

function WhoCan({ uid, name }: PlaceProps) {
  const path = usePath(uid, name)
  const [{ capability = '' }] = useAddressState()
  return (
    <>
      <div className="page-form">
        <CapabilityPicker label="Capability" />
      </div>
      {capability === '' ? (
        <p className="muted">Choose a capability.</p>
      ) : (
        <Able uid={uid} name={name} capability={capability} />
      )}
      <Equivalent command={`berth iam access who-can ${capability || 'CAPABILITY'} ${quoted(path)}`} />
    </>
  )
}

function Able({ uid, name, capability }: PlaceProps & { readonly capability: string }) {
  const query = whoCanQuery(uid, capability)
  const { data } = useInfiniteQuery(query)
  const first = data?.pages[0] as MemberPage | undefined
  return (
    <section className="result">
      <h2>
        Can {permits(capability)} in <bdi>{name}</bdi>
      </h2>
      {first?.suspended === true && (
        <p className="alert" role="alert">
          The operator has suspended this organization: no role in it applies.
        </p>
      )}
      <PageList
        label="Members"
        query={query}
        keyOf={({ uid: identity, name: member, role }) => `${identity || member} ${role?.uid}`}
        columns={[
          { id: 'member', title: 'Name', cell: (member) => <MemberName member={member} /> },
          { id: 'kind', title: 'Kind', cell: ({ kind }) => kindName(kind) },
          { id: 'role', title: 'By the role', cell: ({ role }) => role?.name },
          { id: 'from', title: 'From', cell: ({ sources }) => <Sources sources={sources} /> },
        ]}
        empty={
          <p>No one can do this here, as far as you can read roles. Operators of the server always can.</p>
        }
      />
      <Hidden hidden={first?.hidden ?? []} />
    </section>
  )
}
