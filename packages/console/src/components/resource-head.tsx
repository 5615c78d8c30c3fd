import type { ReactNode } from 'react'
import { Actions } from './actions.tsx'
import { Title } from './title.tsx'

interface ResourceHeadProps {
  readonly name: string
  /** Capability that the user lacks for the action; undefined if it is permitted. */
  readonly missing: { readonly edit: string | undefined; readonly delete: string | undefined }
  readonly onAction: (action: 'edit' | 'delete') => void
  /** Links to other pages about the resource. */
  readonly links?: ReactNode
}

/** The title of the page of a resource, with its actions. */
export function ResourceHead({ name, missing, onAction, links }: ResourceHeadProps) {
  return (
    <div className="page-head">
      <Title text={name} />
      <Actions
        links={links}
        actions={[
          { label: 'Edit', isQuiet: true, missing: missing.edit, onPress: () => onAction('edit') },
          { label: 'Delete', isQuiet: true, missing: missing.delete, onPress: () => onAction('delete') },
        ]}
      />
    </div>
  )
}
