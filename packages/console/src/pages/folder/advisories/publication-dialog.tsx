import type { AdvisoryPublication } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../../api/client.ts'
import { publicationQuery } from '../../../api/queries/advisories.ts'
import type { Versioned } from '../../../api/queries/pages.ts'
import { violationOf } from '../../../api/query-client.ts'
import { Field } from '../../../components/field.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'

const fields = [
  ['ecosystem', 'Distribution in OSV', 'For example Wolfi, or Alpine:v3.20'],
  ['namespace', 'Namespace of package URLs', 'For example wolfi'],
  ['reponame', 'Repository in the security database', 'For example os'],
  ['urlprefix', 'URL of the repositories', 'For example https://packages.example.com'],
  ['apkurl', 'URL template of a package', ''],
  ['archs', 'Architectures', 'Separated by commas'],
  ['distroversion', 'Version of the distribution', ''],
] as const

type Texts = Readonly<Record<(typeof fields)[number][0], string>>

const textsOf = ({ distribution, securityDatabase }: AdvisoryPublication): Texts => ({
  ecosystem: distribution?.ecosystem ?? '',
  namespace: distribution?.namespace ?? '',
  reponame: securityDatabase?.reponame ?? '',
  urlprefix: securityDatabase?.urlprefix ?? '',
  apkurl: securityDatabase?.apkurl ?? '',
  archs: securityDatabase?.archs.join(', ') ?? '',
  distroversion: securityDatabase?.distroversion ?? '',
})

interface PublicationDialogProps {
  readonly publication: Versioned<AdvisoryPublication>
  readonly onClose: () => void
}

/** Changes how artifacts are named in published files. */
export function PublicationDialog({ publication, onClose }: PublicationDialogProps) {
  const queries = useQueryClient()
  const { uid } = publication.value
  const [edited, setEdited] = useState(publication)
  const [texts, setTexts] = useState(textsOf(publication.value))
  return (
    <FormDialog
      title="Edit the settings of the publication"
      action="Save"
      entered={texts}
      onClose={onClose}
      submit={async () => {
        const { ecosystem, namespace, archs, ...database } = texts
        const patch = {
          distribution: { ecosystem, namespace },
          securityDatabase: {
            ...database,
            archs: archs
              .split(',')
              .map((arch) => arch.trim())
              .filter((arch) => arch !== ''),
          },
        }
        await api.advisoryPublications.updateAdvisoryPublication(uid, patch, { ifMatch: edited.etag })
        await queries.invalidateQueries({ queryKey: ['advisory-publication', uid] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...publicationQuery(uid), staleTime: 0 })
        setEdited(current)
        setTexts(textsOf(current.value))
      }}
    >
      {(failure) =>
        fields.map(([name, label, hint], at) => (
          <Field
            key={name}
            label={label}
            value={texts[name]}
            onChange={(value) => setTexts({ ...texts, [name]: value })}
            hint={hint}
            problem={violationOf(failure, name)}
            isFirst={at === 0}
          />
        ))
      }
    </FormDialog>
  )
}
