import type { AdvisoryPublication } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../../api/access.ts'
import { api } from '../../../api/client.ts'
import { groupPathsQuery, publicationQuery, summaryQuery } from '../../../api/queries/advisories.ts'
import type { Versioned } from '../../../api/queries/pages.ts'
import { session } from '../../../api/session.ts'
import { ActionButton } from '../../../components/action-button.tsx'
import { Badge } from '../../../components/badge.tsx'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Command, Equivalent, quoted } from '../../../components/copy.tsx'
import { Disclosure } from '../../../components/disclosure.tsx'
import { Facts } from '../../../components/facts.tsx'
import { Problem } from '../../../components/problem.tsx'
import { formatNumber } from '../../../components/quantity.tsx'
import { Time } from '../../../components/time.tsx'
import type { FolderTabProps } from '../folder.tsx'
import { PublicationDialog } from './publication-dialog.tsx'
import { ScannerSnippets } from './scanner-snippets.tsx'

/** What a folder publishes for scanners, and to whom. */
export function Publication({ uid, name }: FolderTabProps) {
  const path = usePath(uid, name)
  const { data, error, refetch } = useQuery(publicationQuery(uid))
  return (
    <>
      {data === undefined && error === null && (
        <p className="muted" role="status">
          Loading the publication…
        </p>
      )}
      {data === undefined && error !== null && (
        <Problem title="Publication not available" failure={error} onRetry={() => void refetch()} />
      )}
      {data !== undefined && <PublicationDetails publication={data} name={name} />}
      <Equivalent command={`berth advisories publication describe --parent ${quoted(path)}`} />
    </>
  )
}

interface Format {
  readonly title: string
  /** Which clients read it. */
  readonly clients: string
  /** What is at each path. */
  readonly files: readonly (readonly [title: string, path: string])[]
}

/** What is published at which path of the API, as docs/advisories-publishing.md has it. */
const formatsOf = (uid: string): readonly Format[] => {
  const feeds = `/vulnerabilities/feeds/${uid}`
  return [
    {
      title: 'OSV files',
      clients: 'osv-scanner, mirrors',
      files: [
        ['All records', `${feeds}/osv/all.zip`],
        ['Changed records, newest first', `${feeds}/osv/modified_id.csv`],
      ],
    },
    {
      title: 'OSV API',
      clients: 'clients of OSV.dev',
      files: [['Address of the API', `/osv/${uid}`]],
    },
    {
      title: 'OpenVEX',
      clients: 'Trivy, Grype, vexctl',
      files: [
        ['VEX repository', `${feeds}/openvex`],
        ['All documents', `${feeds}/openvex/all.zip`],
        ['Index of documents by package', `${feeds}/openvex/index.json`],
      ],
    },
    {
      title: 'Security database',
      clients: 'scanners of apk packages, vunnel',
      files: [['All packages', `${feeds}/secdb/security.json`]],
    },
  ]
}

function PublicationDetails({
  publication,
  name,
}: {
  readonly publication: Versioned<AdvisoryPublication>
  readonly name: string
}) {
  const { uid, public: isPublic, publicThrough, changeTime } = publication.value
  const missing = useAccess().missing(uid, 'advisories.update')
  const { data: summary } = useQuery(summaryQuery(uid))
  const [dialog, setDialog] = useState<'public' | 'private' | 'settings' | undefined>()
  const close = () => setDialog(undefined)
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label={isPublic ? 'Make private' : 'Make public'}
          isQuiet
          missing={missing}
          onPress={() => setDialog(isPublic ? 'private' : 'public')}
        />
        <ActionButton label="Edit settings" isQuiet missing={missing} onPress={() => setDialog('settings')} />
      </div>
      <Audience uid={uid} publicThrough={publicThrough} />
      <Facts
        facts={[
          ['Last change', <Time key="change" value={changeTime} isRelative />],
          ['Advisories', summary && formatNumber(summary.totalCount)],
        ]}
      />
      <ScannerSnippets
        base={`${session.apiUrl}/vulnerabilities/feeds/${uid}`}
        name={name}
        isPublic={publicThrough !== ''}
        ecosystem={ecosystemOf(publication.value)}
      />
      <section>
        <h2>Addresses</h2>
        <p className="muted">
          All formats have the advisories of this folder and of the folders in it, and follow every change.
        </p>
        {formatsOf(uid).map(({ title, clients, files }) => (
          <Disclosure
            key={title}
            summary={
              <>
                {title} <span className="hint">for {clients}</span>
              </>
            }
          >
            {files.map(([content, path]) => (
              <div key={path} className="address">
                <p className="muted">{content}</p>
                <Command
                  text={`${session.apiUrl}${path}`}
                  label={`the address: ${title}, ${content.toLowerCase()}`}
                />
              </div>
            ))}
          </Disclosure>
        ))}
        <Disclosure summary="Names of packages in the files">
          <Names publication={publication.value} />
        </Disclosure>
      </section>
      {dialog === 'settings' && <PublicationDialog publication={publication} onClose={close} />}
      {(dialog === 'public' || dialog === 'private') && (
        <AudienceDialog uid={uid} name={name} isToBePublic={dialog === 'public'} onClose={close} />
      )}
    </>
  )
}

const ecosystemOf = ({ distribution }: AdvisoryPublication) => distribution?.ecosystem || 'Wolfi'

/** The settings of the publication. */
function Names({ publication }: { readonly publication: AdvisoryPublication }) {
  const { securityDatabase: database, distribution } = publication
  const text = (value: string | undefined) => (value ? <bdi>{value}</bdi> : undefined)
  return (
    <Facts
      facts={[
        ['Distribution in OSV', text(ecosystemOf(publication))],
        ['Namespace of package URLs', text(distribution?.namespace) ?? 'wolfi'],
        ['Repository', text(database?.reponame)],
        ['URL of the repositories', text(database?.urlprefix)],
        ['URL of a package', text(database?.apkurl)],
        ['Architectures', text(database?.archs.join(', '))],
        ['Version of the distribution', text(database?.distroversion)],
      ]}
    />
  )
}

function Audience({ uid, publicThrough }: { readonly uid: string; readonly publicThrough: string }) {
  const { data: paths } = useQuery({
    ...groupPathsQuery([publicThrough]),
    enabled: publicThrough !== '' && publicThrough !== uid,
  })
  if (publicThrough === '')
    return (
      <p>
        <Badge tone="good">Private</Badge> Everyone who can list the advisories of this folder can read the
        files with a token.
      </p>
    )
  return (
    <p>
      <Badge tone="warn">Public</Badge> Everyone can read the files without a token
      {publicThrough === uid ? (
        '.'
      ) : (
        <>
          , because{' '}
          <Link
            to="/folders/$"
            params={{ _splat: publicThrough }}
            search={{ tab: 'advisories', section: 'publication' }}
          >
            {paths?.get(publicThrough) ?? 'a folder above'}
          </Link>{' '}
          is public.
        </>
      )}
    </p>
  )
}

interface AudienceDialogProps {
  readonly uid: string
  readonly name: string
  /** What the user chose, although someone else may change it while the dialog is open. */
  readonly isToBePublic: boolean
  readonly onClose: () => void
}

function AudienceDialog({ uid, name, isToBePublic, onClose }: AudienceDialogProps) {
  const queries = useQueryClient()
  return (
    <ConfirmDialog
      title={isToBePublic ? 'Make the publication public' : 'Make the publication private'}
      action={isToBePublic ? 'Make public' : 'Make private'}
      isDangerous={isToBePublic}
      onClose={onClose}
      submit={async () => {
        await api.advisoryPublications.updateAdvisoryPublication(uid, { public: isToBePublic })
        await queries.invalidateQueries({ queryKey: ['advisory-publication'] })
      }}
    >
      <p>
        {isToBePublic
          ? `Everyone can then read all advisories of ${name} and of all folders in it, now and later, without signing in. A folder in it cannot opt out.`
          : 'Caches can keep the files for one minute. If a folder above is public, this one stays public.'}
      </p>
    </ConfirmDialog>
  )
}
