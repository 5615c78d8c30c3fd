import { violationOf } from '../api/query-client.ts'
import { Field } from './field.tsx'

/** The name and the description of a resource. */
export interface Naming {
  readonly name: string
  readonly description: string
}

interface NameFieldsProps {
  readonly value: Naming
  readonly onChange: (value: Naming) => void
  /** Which names are valid. */
  readonly hint: string
  /** Failure of the last attempt; a field shows its violation. */
  readonly failure: unknown
}

/** Fields of a form that creates or edits a resource. */
export function NameFields({ value, onChange, hint, failure }: NameFieldsProps) {
  return (
    <>
      <Field
        label="Name"
        value={value.name}
        onChange={(name) => onChange({ ...value, name })}
        hint={hint}
        problem={violationOf(failure, 'name')}
        isFirst
      />
      <Field
        label="Description (optional)"
        value={value.description}
        onChange={(description) => onChange({ ...value, description })}
        problem={violationOf(failure, 'description')}
      />
    </>
  )
}
