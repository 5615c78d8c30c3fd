import type { AccountAssociation, AccountProviderType, CheckAccountAssociationResponse } from '@berth/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { api } from '../../api/client.ts'
import { associationsQuery } from '../../api/queries/organization.ts'
import { messageOf } from '../../api/query-client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge } from '../../components/badge.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { PageList } from '../../components/page-list.tsx'
import { RowAction } from '../../components/row-action.tsx'
import { Time } from '../../components/time.tsx'
import { LinkAccountDialog } from './account-dialogs.tsx'
import type { SettingsTabProps } from './settings.tsx'

/** Accounts at cloud providers that services of the platform use for an organization and its folders. */
export function Accounts({ organization }: SettingsTabProps) {
  const { uid, name } = organization.value
  const access = useAccess()
  const queries = useQueryClient()
  const [dialog, setDialog] = useState<'link' | AccountAssociation | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Link a cloud account"
          missing={
            access.missing(uid, 'account_associations.create') ??
            access.missing(uid, 'account_associations.update')
          }
          onPress={() => setDialog('link')}
        />
      </div>
      <PageList
        label="Cloud accounts"
        query={associationsQuery(uid)}
        missing={access.missing(uid, 'account_associations.list')}
        keyOf={(association) => association.uid}
        columns={[
          {
            id: 'name',
            title: 'Name',
            cell: (association) => (
              <>
                {association.name}
                <span className="second">
                  {association.uid === uid ? 'the whole organization' : `folder ${association.uid}`}
                </span>
              </>
            ),
          },
          {
            id: 'accounts',
            title: 'Accounts',
            cell: (association) => <LinkedAccounts association={association} />,
          },
          { id: 'updated', title: 'Updated', cell: (association) => <Time value={association.updateTime} /> },
          {
            id: 'actions',
            title: 'Actions',
            cell: (association) => (
              <RowAction
                label="Unlink"
                object={association.name}
                missing={access.missing(association.uid, 'account_associations.delete')}
                onPress={() => setDialog(association)}
              />
            ),
          },
        ]}
        empty={
          <p>
            There are no linked accounts yet. A link says which account of Amazon Web Services, Google Cloud
            or Microsoft Azure belongs to this organization, so that services can get credentials for it
            without stored secrets.
          </p>
        }
      />
      <Equivalent command={`berth iam account-associations list --parent ${quoted(name)}`} />
      {dialog === 'link' && <LinkAccountDialog organization={uid} onClose={close} />}
      {dialog !== undefined && dialog !== 'link' && (
        <ConfirmDialog
          title={`Unlink ${dialog.name}?`}
          action="Unlink all accounts"
          isDangerous
          onClose={close}
          submit={async () => {
            await api.accountAssociations.delete(dialog.uid)
            await queries.invalidateQueries({ queryKey: ['account-associations', uid] })
          }}
        >
          <p>Services can no longer get credentials for these accounts through Berth.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

interface Linked {
  readonly type: AccountProviderType
  readonly title: string
  readonly account: string
}

function linkedOf({ amazon, google, azure }: AccountAssociation): readonly Linked[] {
  const found: Linked[] = []
  if (amazon !== undefined)
    found.push({
      type: 'ACCOUNT_PROVIDER_TYPE_AMAZON',
      title: 'Amazon Web Services',
      account: `account ${amazon.account}`,
    })
  if (google !== undefined)
    found.push({
      type: 'ACCOUNT_PROVIDER_TYPE_GOOGLE',
      title: 'Google Cloud',
      account: `project ${google.projectId} (${google.projectNumber})`,
    })
  if (azure !== undefined)
    found.push({
      type: 'ACCOUNT_PROVIDER_TYPE_AZURE',
      title: 'Microsoft Azure',
      account: `tenant ${azure.tenantId}`,
    })
  return found
}

function LinkedAccounts({ association }: { readonly association: AccountAssociation }) {
  const installations = Object.values(association.github?.appInstallations ?? {}).flatMap(
    (app) => app.installations,
  )
  return (
    <ul className="checks">
      {linkedOf(association).map((linked) => (
        <li key={linked.type}>
          <AccountCheck uid={association.uid} linked={linked} />
        </li>
      ))}
      {installations.map(({ installationId, name }) => (
        <li key={installationId}>GitHub: installation {name || installationId}</li>
      ))}
    </ul>
  )
}

/** Gets credentials for an account when the user asks for it. */
function AccountCheck({ uid, linked }: { readonly uid: string; readonly linked: Linked }) {
  const { type, title, account } = linked
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api.accountAssociations.checkAccountAssociation({ uid, providerType: type }),
  })
  return (
    <>
      <span>
        {title}: {account}{' '}
      </span>
      <Button className="link" isDisabled={isPending} aria-label={`Check ${title}`} onPress={() => mutate()}>
        {isPending ? 'Checking…' : 'Check'}
      </Button>
      <div role="status">
        {error !== null && <span className="error">{messageOf(error)}</span>}
        {error === null && data !== undefined && <CheckResult result={data} />}
      </div>
    </>
  )
}

function CheckResult({ result }: { readonly result: CheckAccountAssociationResponse }) {
  if (result.status === 'CHECK_STATUS_READY')
    return (
      <>
        <Badge tone="good">works</Badge> Berth got credentials for it.
      </>
    )
  return (
    <>
      <Badge tone="bad">{result.reason || 'does not work'}</Badge> {result.message}
    </>
  )
}
