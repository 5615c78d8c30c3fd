import type { JsonValue, ParameterSchema } from '@berth/client'
import { violationOf } from '../../api/query-client.ts'
import { CheckboxField, Field, SelectField, TextAreaField } from '../../components/field.tsx'
import { parameterTitle, valueText } from './policy-texts.tsx'

/** Values of parameters as they are typed: lists have an entry in each line, booleans are `true`, `false` or ''. */
export type ParameterDraft = Readonly<Record<string, string>>

export function draftOf(
  schemas: readonly ParameterSchema[],
  values: Readonly<Record<string, JsonValue>>,
): ParameterDraft {
  return Object.fromEntries(
    schemas.flatMap(({ name }) => {
      const value = values[name]
      if (value === undefined || value === null) return []
      return [[name, Array.isArray(value) ? value.map(String).join('\n') : String(value)]]
    }),
  )
}

/** The values to send: what is empty is left out, so that the default applies. The server checks types and ranges. */
export function valuesOf(
  schemas: readonly ParameterSchema[],
  draft: ParameterDraft,
): Readonly<Record<string, JsonValue>> {
  return Object.fromEntries(
    schemas.flatMap(({ name, type }): [string, JsonValue][] => {
      const text = draft[name]?.trim() ?? ''
      if (text === '') return []
      if (type === 'PARAMETER_TYPE_BOOLEAN') return [[name, text === 'true']]
      if (type === 'PARAMETER_TYPE_INTEGER') return [[name, /^-?\d+$/.test(text) ? Number(text) : text]]
      if (type === 'PARAMETER_TYPE_STRING_LIST') return [[name, linesOf(text)]]
      return [[name, text]]
    }),
  )
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

interface ParameterFieldsProps {
  readonly schemas: readonly ParameterSchema[]
  readonly draft: ParameterDraft
  readonly onChange: (draft: ParameterDraft) => void
  readonly failure: unknown
}

export function ParameterFields({ schemas, draft, onChange, failure }: ParameterFieldsProps) {
  return schemas.map((schema) => (
    <ParameterField
      key={schema.name}
      schema={schema}
      value={draft[schema.name] ?? ''}
      onChange={(value) => onChange({ ...draft, [schema.name]: value })}
      failure={failure}
    />
  ))
}

interface ParameterFieldProps {
  readonly schema: ParameterSchema
  readonly value: string
  readonly onChange: (value: string) => void
  readonly failure: unknown
}

function ParameterField({ schema, value, onChange, failure }: ParameterFieldProps) {
  const { name, type, description, required, allowedValues } = schema
  const common = { label: labelOf(schema), value, onChange, problem: violationOf(failure, camelCase(name)) }
  const hint = required ? description : `${description} Default: ${valueText(schema.default) || 'none'}.`
  if (type === 'PARAMETER_TYPE_BOOLEAN')
    return (
      <CheckboxField
        isSelected={(value === '' ? String(schema.default) : value) === 'true'}
        onChange={(isSelected) => onChange(String(isSelected))}
      >
        <span>
          {parameterTitle(name)}
          <span className="second">{description}</span>
        </span>
      </CheckboxField>
    )
  if (allowedValues.length > 0)
    return (
      <SelectField
        {...common}
        hint={description}
        value={value === '' ? String(schema.default ?? '') : value}
        choices={allowedValues.map((allowed) => ({ id: String(allowed), name: String(allowed) }))}
      />
    )
  if (type === 'PARAMETER_TYPE_STRING_LIST')
    return <TextAreaField {...common} hint={`${hint} One in each line.`} rows={3} />
  return <Field {...common} hint={hint} inputMode={type === 'PARAMETER_TYPE_INTEGER' ? 'numeric' : 'text'} />
}

const labelOf = ({ name, required }: ParameterSchema): string =>
  `${parameterTitle(name)}${required ? '' : ' (optional)'}`

/** As `violationOf` names fields. */
const camelCase = (name: string): string =>
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
