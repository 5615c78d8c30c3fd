import type { Repo } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { Time } from '../../components/time.tsx'
import { EditCatalogDialog, tierName } from './catalog-dialog.tsx'
import { DeleteRepoDialog } from './delete-repo.tsx'
import type { RepoTabProps } from './repo.tsx'
import { EditRepoDialog } from './repo-dialogs.tsx'
import { VisibilitySettings } from './visibility.tsx'

/** The name, the visibility, the catalog entry and the end of a repository. */
export function Settings({ repo, path }: RepoTabProps) {
  const { uid, name, description, createTime, updateTime } = repo.value
  const access = useAccess()
  const [dialog, setDialog] = useState<'edit' | 'catalog' | 'delete' | undefined>()
  const close = () => setDialog(undefined)
  return (
    <div className="parts">
      <div className="setting-cards">
        <section>
          <h2>Name and description</h2>
          <Facts
            facts={[
              ['Name', name],
              ['Description', description === '' ? 'none' : description],
              ['Created', <Time key="created" value={createTime} />],
              ['Updated', <Time key="updated" value={updateTime} />],
            ]}
          />
          <div className="section-actions">
            <ActionButton
              label="Edit"
              isQuiet
              missing={access.missing(uid, 'repo.update')}
              onPress={() => setDialog('edit')}
            />
          </div>
        </section>
        <VisibilitySettings repo={uid} path={path} />
        <Catalog
          repo={repo}
          missing={access.missing(uid, 'repo.update') ?? access.missing(uid, 'repo.internal.admin')}
          onEdit={() => setDialog('catalog')}
        />
        <section className="danger-section" aria-labelledby="delete">
          <h2 id="delete">Delete the repository</h2>
          <p className="muted">Its tags that are not immutable must be deleted first.</p>
          <div className="section-actions">
            <ActionButton
              label="Delete"
              isDanger
              missing={access.missing(uid, 'repo.delete')}
              onPress={() => setDialog('delete')}
            />
          </div>
        </section>
      </div>
      <Equivalent command={`berth images repos describe ${quoted(path)}`} />
      {dialog === 'edit' && <EditRepoDialog repo={repo} onClose={close} />}
      {dialog === 'catalog' && <EditCatalogDialog repo={repo} onClose={close} />}
      {dialog === 'delete' && <DeleteRepoDialog repo={repo} onClose={close} />}
    </div>
  )
}

interface CatalogProps {
  readonly repo: Versioned<Repo>
  readonly missing: string | undefined
  readonly onEdit: () => void
}

function Catalog({ repo, missing, onEdit }: CatalogProps) {
  const { catalogTier, bundles, aliases, activeTags, sync_config: copy } = repo.value
  const list = (texts: readonly string[]) => (texts.length === 0 ? 'none' : texts.join(', '))
  const source = copy?.source
  return (
    <section>
      <h2>Catalog</h2>
      <p className="muted">
        How the image is offered to other organizations. A repository that copies another one has the values
        of its source.
      </p>
      <Facts
        facts={[
          ['Tier', tierName(catalogTier)],
          ['Bundles', list(bundles)],
          ['Tags that receive updates', list(activeTags)],
          ['Known as', list(aliases)],
          [
            'Copies',
            source === undefined ? undefined : (
              <Link key="source" to="/repos/$" params={{ _splat: source }}>
                <code>{source}</code>
              </Link>
            ),
          ],
          [
            'Copies until',
            copy?.expirationTime === undefined ? undefined : <Time key="end" value={copy.expirationTime} />,
          ],
        ]}
      />
      <div className="section-actions">
        <ActionButton
          label="Edit the catalog entry"
          isQuiet
          missing={copy === undefined ? missing : 'The source has these values'}
          onPress={onEdit}
        />
      </div>
    </section>
  )
}
