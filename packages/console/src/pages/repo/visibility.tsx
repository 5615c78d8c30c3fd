import type { PublicBinding, Visibility } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { folderQuery, parentOf } from '../../api/queries/groups.ts'
import { visibilityQuery } from '../../api/queries/registry/policies.ts'
import { reposBelowQuery } from '../../api/queries/registry/repos.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { ActionDialog } from '../../components/action-dialog.tsx'
import { Command, quoted } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { plural } from '../../components/quantity.tsx'
import { Reasons } from '../../components/reasons.tsx'
import { RowAction } from '../../components/row-action.tsx'

/** Who can pull. Roles are granted in folders, so a folder is public or private with everything in it. */

interface VisibilitySettingsProps {
  /** uid. */
  readonly repo: string
  readonly path: string
}

export function VisibilitySettings({ repo, path }: VisibilitySettingsProps) {
  const folder = parentOf(repo)
  const access = useAccess()
  const visibility = useQuery(visibilityQuery(repo))
  const { data } = visibility
  const { data: parent } = useQuery(folderQuery(folder))
  const [dialog, setDialog] = useState<'publish' | PublicBinding | undefined>()
  const close = () => setDialog(undefined)
  const folderName = parent?.value.name ?? folder
  const folderPath = path === repo ? folder : path.split('/').slice(0, -1).join('/')
  if (data === undefined) return <NotLoaded what="the visibility" query={visibility} />
  return (
    <section>
      <h2>Visibility</h2>
      <p>
        {data.public
          ? 'Public: anyone can pull from this repository without a token.'
          : 'Private: only identities with a role can pull from this repository.'}{' '}
        <span className="muted">
          A repository is public or private with its folder; the folder {folderName} has{' '}
          {plural(data.repos, 'repository', 'repositories')}. Pushing always requires a role.
        </span>
      </p>
      {data.bindings.length > 0 && (
        <Reasons>
          <ul className="bindings">
            {data.bindings.map((binding) => (
              <li key={`${binding.group} ${binding.roleName}`}>
                Everyone has the role {binding.roleName} in{' '}
                <Link to="/folders/$" params={{ _splat: binding.group }}>
                  {binding.groupName}
                </Link>
                .{' '}
                <RowAction
                  label="Remove it"
                  object={`: the role ${binding.roleName} of everyone in ${binding.groupName}`}
                  missing={
                    binding.uid === ''
                      ? access.missing(binding.group, 'role_bindings.list')
                      : access.missing(binding.group, 'role_bindings.delete')
                  }
                  onPress={() => setDialog(binding)}
                />
              </li>
            ))}
          </ul>
        </Reasons>
      )}
      {!data.public && (
        <div className="section-actions">
          <ActionButton
            label={`Publish the folder ${folderName}`}
            isQuiet
            missing={access.missing(folder, 'role_bindings.create')}
            onPress={() => setDialog('publish')}
          />
        </div>
      )}
      {dialog === 'publish' && (
        <PublishDialog folder={folder} folderPath={folderPath} visibility={data} onClose={close} />
      )}
      {dialog !== undefined && dialog !== 'publish' && (
        <UnpublishDialog
          binding={dialog}
          command={
            dialog.group === folder
              ? `berth images repos unpublish ${quoted(folderPath)}`
              : `berth images repos unpublish ${dialog.group}`
          }
          onClose={close}
        />
      )}
    </section>
  )
}

interface PublishDialogProps {
  readonly folder: string
  readonly folderPath: string
  readonly visibility: Visibility
  readonly onClose: () => void
}

function PublishDialog({ folder, folderPath, visibility, onClose }: PublishDialogProps) {
  const { data } = useQuery(reposBelowQuery(folder))
  const more = visibility.repos - (data?.repos.length ?? 0)
  return (
    <ActionDialog
      title="Publish the folder"
      action={`Publish ${plural(visibility.repos, 'repository', 'repositories')}`}
      isDangerous
      onClose={onClose}
      submit={async () => {
        const { anonymousIdentity: identityUid, pullRole: roleUid } = visibility
        await api.roleBindings.create(folder, { identityUid, roleUid })
        await refreshAccess()
      }}
    >
      {() => (
        <div className="dialog-text">
          <p>
            Anyone can then pull every image in {folderPath} without a token, and see its tags and names. This
            also applies to repositories that are created in it later.
          </p>
          {data !== undefined && (
            <ul className="name-list">
              {data.repos.map(({ uid, name }) => (
                <li key={uid}>{name}</li>
              ))}
              {more > 0 && <li className="muted">and {plural(more, 'more', 'more')}</li>}
            </ul>
          )}
          <Command text={`berth images repos publish ${quoted(folderPath)}`} label="the command" />
        </div>
      )}
    </ActionDialog>
  )
}

interface UnpublishDialogProps {
  readonly binding: PublicBinding
  readonly command: string
  readonly onClose: () => void
}

function UnpublishDialog({ binding, command, onClose }: UnpublishDialogProps) {
  return (
    <ActionDialog
      title={`Revoke the role of everyone in ${binding.groupName}`}
      action="Revoke the role"
      isDangerous
      onClose={onClose}
      submit={async () => {
        await api.roleBindings.delete(binding.uid)
        await refreshAccess()
      }}
    >
      {() => (
        <div className="dialog-text">
          <p>
            Pulls without a token then fail for all repositories in {binding.groupName}, unless another folder
            above is public.
          </p>
          <Command text={command} label="the command" />
        </div>
      )}
    </ActionDialog>
  )
}
