import { type Platform, type PlatformField, platforms } from '@berth/workloads/platforms.ts'
import { useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { Field, SelectField } from '../../components/field.tsx'
import { RuleFields } from '../identities/rule-fields.tsx'
import type { StepProps } from './create-identity.tsx'
import { fieldsOf, ruleOf } from './wizard.ts'

/** The second step: which workloads of the platform. */
export function DetailsStep({ state, onChange, goTo }: StepProps) {
  const { platform, typed } = state
  const fields = fieldsOf(state)
  // Fields say what is wrong when the user continues, and not while they type for the first time.
  const [isChecked, setChecked] = useState(false)
  const read = ruleOf(state)
  const problems = isChecked && 'problems' in read ? read.problems : {}
  if (platform === undefined) return null
  const set = (part: Readonly<Record<string, string>>) =>
    onChange({ typed: { ...typed, [platform]: { ...fields, ...part } } })
  return (
    <Form
      className="page-form"
      validationBehavior="aria"
      onSubmit={(event) => {
        event.preventDefault()
        setChecked(true)
        if ('rule' in read) goTo('role')
      }}
    >
      {platform === 'oidc' || platform === 'static' ? (
        <RuleFields kind={platform} values={fields} onChange={set} problems={problems} failure={null} />
      ) : (
        (platforms[platform] as Platform).fields.map((field) => (
          <OneField
            key={field.name}
            field={field}
            value={fields[field.name] ?? field.default ?? ''}
            onChange={(value) => set({ [field.name]: value })}
            problem={problems[field.name]}
          />
        ))
      )}
      <div className="actions">
        <Button className="button quiet" onPress={() => goTo('platform')}>
          Back
        </Button>
        <Button type="submit" className="button">
          Continue
        </Button>
      </div>
    </Form>
  )
}

interface OneFieldProps {
  readonly field: PlatformField
  readonly value: string
  readonly onChange: (value: string) => void
  readonly problem: string | undefined
}

function OneField({ field, value, onChange, problem }: OneFieldProps) {
  const { label, example, hint, choices, isOptional } = field
  const shown = isOptional === true ? `${label} (optional)` : label
  if (choices !== undefined)
    return (
      <SelectField
        label={shown}
        choices={choices.map((id) => ({ id, name: id }))}
        value={value}
        onChange={onChange}
        problem={problem}
      />
    )
  const texts = [hint, example === '' ? undefined : `For example ${example}`]
  return (
    <Field
      label={shown}
      hint={texts
        .filter((text) => text !== undefined)
        .join('. ')
        .replaceAll('..', '.')}
      value={value}
      onChange={onChange}
      problem={problem}
    />
  )
}
