import type { CatalogTier, Repo } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { violationOf } from '../../api/query-client.ts'
import { Field, SelectField, TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'

/** Edits how the image of a repository is offered. Only with the capability of the catalog. */

const tiers: readonly (readonly [CatalogTier, string])[] = [
  ['CATALOG_TIER_UNSPECIFIED', 'none'],
  ['CATALOG_TIER_APPLICATION', 'application'],
  ['CATALOG_TIER_BASE', 'base'],
  ['CATALOG_TIER_FIPS', 'fips'],
  ['CATALOG_TIER_AI', 'ai'],
  ['CATALOG_TIER_DEVTOOLS', 'devtools'],
  ['CATALOG_TIER_COMMERCIAL', 'commercial'],
]

export const tierName = (tier: CatalogTier): string => tiers.find(([id]) => id === tier)?.[1] ?? tier

const wordsOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

const draftOf = ({ catalogTier, bundles, activeTags, aliases }: Repo) => ({
  catalogTier,
  bundles: bundles.join(' '),
  activeTags: activeTags.join(' '),
  aliases: aliases.join('\n'),
})

interface EditCatalogDialogProps {
  readonly repo: Versioned<Repo>
  readonly onClose: () => void
}

export function EditCatalogDialog({ repo, onClose }: EditCatalogDialogProps) {
  const queries = useQueryClient()
  const { uid } = repo.value
  const [edited, setEdited] = useState(repo)
  const [draft, setDraft] = useState(draftOf(repo.value))
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part })
  return (
    <FormDialog
      title="Edit the catalog entry"
      action="Save"
      entered={draft}
      onClose={onClose}
      submit={async () => {
        const { catalogTier, bundles, activeTags, aliases } = draft
        await api.repos.update(
          uid,
          {
            catalogTier,
            bundles: wordsOf(bundles),
            activeTags: wordsOf(activeTags),
            aliases: wordsOf(aliases),
          },
          { ifMatch: edited.etag },
        )
        await queries.invalidateQueries({ queryKey: ['repo', uid] })
      }}
      reload={async () => {
        const current = await queries.fetchQuery({ ...repoQuery(uid), staleTime: 0 })
        setEdited(current)
        setDraft(draftOf(current.value))
      }}
    >
      {(failure) => (
        <>
          <SelectField
            label="Tier"
            choices={tiers.map(([id, name]) => ({ id, name }))}
            value={draft.catalogTier}
            onChange={(tier) => change({ catalogTier: tier as CatalogTier })}
          />
          <Field
            label="Bundles"
            value={draft.bundles}
            onChange={(bundles) => change({ bundles })}
            hint="Separated by spaces: application, base, byol, ai, ai-gpu, featured, fips, commercial, emeritoss"
            problem={violationOf(failure, 'bundles')}
          />
          <Field
            label="Tags that receive updates"
            value={draft.activeTags}
            onChange={(activeTags) => change({ activeTags })}
            hint="Separated by spaces"
            problem={violationOf(failure, 'activeTags')}
          />
          <TextAreaField
            label="Known as"
            value={draft.aliases}
            onChange={(aliases) => change({ aliases })}
            rows={3}
            hint="Image references with a tag, one in each line"
            problem={violationOf(failure, 'aliases')}
          />
        </>
      )}
    </FormDialog>
  )
}
