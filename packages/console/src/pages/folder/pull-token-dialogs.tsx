import type { Identity } from '@berth/client'
import { deleteIdentityWithBindings } from '@berth/workloads/creation.ts'
import type { PullToken } from '@berth/workloads/pull-tokens.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { rolesQuery } from '../../api/queries/iam/access.ts'
import { violationOf } from '../../api/query-client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Field, SelectField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { RolePicker } from '../../components/pickers.tsx'

/** Dialogs that create and revoke a pull token. */

const lifetimes = [
  { id: '24h', name: '1 day', seconds: 86_400 },
  { id: '168h', name: '7 days', seconds: 7 * 86_400 },
  { id: '720h', name: '30 days', seconds: 30 * 86_400 },
  { id: '2160h', name: '90 days', seconds: 90 * 86_400 },
  { id: '8760h', name: '1 year', seconds: 365 * 86_400 },
] as const

const DEFAULT_LIFETIME = '720h'
const PULL_ROLE = 'registry.pull'
/** Roles that the command line grants, with its option. */
const repositoryKinds: Readonly<Record<string, string>> = { [PULL_ROLE]: 'oci', 'apk.pull': 'apk' }

interface CreateProps {
  readonly uid: string
  readonly path: string
  readonly onClose: () => void
  readonly onCreated: (created: PullToken) => void
}

export function CreatePullTokenDialog({ uid, path, onClose, onCreated }: CreateProps) {
  const [name, setName] = useState('pull-token')
  const [ttl, setTtl] = useState<string>(DEFAULT_LIFETIME)
  const [chosenRole, setRole] = useState<string | undefined>()
  const { data: roles = [], isPending } = useQuery(rolesQuery(organizationOf(uid)))
  const roleUid = chosenRole ?? roles.find((role) => role.name === PULL_ROLE)?.uid ?? ''
  /** The role that is proposed is not known yet. */
  const isLoading = isPending && chosenRole === undefined
  const repository = repositoryKinds[roles.find(({ uid: role }) => role === roleUid)?.name ?? '']
  const lifetime = lifetimes.find(({ id }) => id === ttl) ?? lifetimes[2]
  return (
    <FormDialog
      title="Create a pull token"
      action="Create the pull token"
      isDisabled={name === '' || (roleUid === '' && !isLoading)}
      isLoading={isLoading}
      entered={{ name, ttl, chosenRole }}
      onClose={onClose}
      submit={async () => {
        if (!isSecureContext)
          throw new Error(
            'Browsers create keys only for pages at https addresses and on this machine. Use the command line instead.',
          )
        // The key is created here: the server has the public key only.
        const { createPullToken } = await import('@berth/workloads/pull-tokens.ts')
        onCreated(
          await createPullToken(api, {
            ...{ name, group: uid, roleUid },
            lifetimeSeconds: lifetime.seconds,
            audience: location.origin,
          }),
        )
        await refreshAccess()
      }}
    >
      {(failure) => (
        <>
          <Field
            label="Name"
            hint="Where it is used: lowercase letters, digits, spaces, and . _ -"
            value={name}
            onChange={setName}
            problem={violationOf(failure, 'name')}
            isFirst
          />
          <SelectField
            label="Expires after"
            choices={lifetimes}
            value={ttl}
            onChange={setTtl}
            problem={violationOf(failure, 'expirationTime')}
          />
          <RolePicker
            label="Role"
            hint="In this folder and everything below. registry.pull permits pulling images and nothing else."
            organization={organizationOf(uid)}
            value={roleUid}
            onChange={setRole}
            problem={violationOf(failure, 'roleUid')}
          />
          {repository !== undefined && (
            <Equivalent
              command={`berth auth pull-token create --name ${quoted(name)} --parent ${quoted(path)} --repository ${repository} --ttl ${ttl}`}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

export function RevokePullTokenDialog({
  identity,
  onClose,
  onRevoked,
}: {
  readonly identity: Identity
  readonly onClose: () => void
  readonly onRevoked: () => void
}) {
  return (
    <ConfirmDialog
      title="Revoke the pull token"
      action="Revoke the pull token"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await deleteIdentityWithBindings(api, identity.uid)
        onRevoked()
        await refreshAccess()
      }}
    >
      <p>
        Machines that use the password of {identity.name} can no longer pull, from the next request on. This
        cannot be undone.
      </p>
    </ConfirmDialog>
  )
}
