import type { Identity } from '@berth/client'
import { identityKind, lastUse } from '@berth/workloads/identity-kinds.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { identityQuery } from '../../api/queries/iam/identities.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { AboutLinks } from '../../components/about-links.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { type PageTab, PageTabs } from '../../components/page-tabs.tsx'
import { ResourceHead } from '../../components/resource-head.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Time } from '../../components/time.tsx'
import { DeleteIdentityDialog, EditIdentityDialog } from './identity-dialogs.tsx'
import { KeysExpiry } from './keys-expiry.tsx'
import { TrustTab } from './trust-tab.tsx'
import '../../styles/pages/identities.css'

const RolesTab = lazyPart(async () => (await import('./roles-tab.tsx')).RolesTab)
const Workflow = lazyPart(async () => (await import('./workflow.tsx')).Workflow)
const Explain = lazyPart(async () => (await import('./explain.tsx')).Explain)

const kindNames = {
  claim_match: 'Tokens of an issuer',
  static: 'Static keys',
  pull_token: 'Pull token',
  aws: 'AWS',
  service_principal: 'Service of the platform',
  user: 'User',
} as const

/** An identity: who can assume it, its roles, how to use it, and why a token is not accepted. */
export function IdentityPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="identity" query={identityQuery(uid)}>
      {(identity) => <IdentityDetails key={uid} identity={identity} />}
    </ResourcePage>
  )
}

function IdentityDetails({ identity }: { readonly identity: Versioned<Identity> }) {
  const { uid, name, description, createTime, updateTime } = identity.value
  const access = useAccess()
  const [{ created }] = useAddressState()
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>()
  const close = () => setDialog(undefined)
  const kind = identityKind(identity.value)
  const folder = parentOf(uid)
  // The name of a user is theirs, and may be empty.
  const title = name || identity.value.email || uid
  return (
    <>
      <Breadcrumbs uid={uid} name={title} />
      <ResourceHead
        name={title}
        missing={{
          edit: access.missing(uid, 'identity.update'),
          delete: access.missing(uid, 'identity.delete'),
        }}
        onAction={setDialog}
        links={<AboutLinks uid={uid} access={folder === '' ? undefined : { place: folder, identity: uid }} />}
      />
      {created !== undefined && (
        <p className="notice" role="status">
          The identity is created. Use it as shown under Workflow, and test a token of the platform.
        </p>
      )}
      {description !== '' && <p className="description">{description}</p>}
      <Facts
        facts={[
          ['Kind', kindNames[kind]],
          ['Trusts', describeTrust(identity.value).words.join(', ')],
          ['Last seen', <Time key="seen" value={lastUse(identity.value)} isRelative />],
          ['Email', identity.value.email || undefined],
          [
            'Keys expire',
            identity.value.staticKeys && <KeysExpiry key="expires" identity={identity.value} />,
          ],
          ['Created', <Time key="created" value={createTime} />],
          ['Updated', <Time key="updated" value={updateTime} />],
          ['Uid', <Id key="uid" value={uid} label={`the uid of ${title}`} />],
        ]}
      />
      <PageTabs label={`Details of ${title}`} tabs={tabsOf(identity)} />
      {dialog === 'edit' && <EditIdentityDialog identity={identity} onClose={close} />}
      {dialog === 'delete' && <DeleteIdentityDialog identity={identity.value} onClose={close} />}
    </>
  )
}

function tabsOf(identity: Versioned<Identity>): PageTab[] {
  const { value } = identity
  const isWorkload = value.claimMatch ?? value.staticKeys ?? value.awsIdentity
  return [
    { id: 'trust', title: 'Trust', content: () => <TrustTab identity={identity} /> },
    { id: 'roles', title: 'Roles', content: () => <RolesTab identity={value} /> },
    ...(isWorkload === undefined
      ? []
      : [
          { id: 'workflow', title: 'Workflow', content: () => <Workflow identity={value} /> },
          { id: 'explain', title: 'Test a token', content: () => <Explain identity={value} /> },
        ]),
  ]
}
