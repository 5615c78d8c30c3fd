import { Button, Form, Label, Radio, RadioGroup } from 'react-aria-components'
import type { StepProps } from './create-identity.tsx'
import { choices } from './wizard.ts'

/** The first step: where the workload runs. */
export function PlatformStep({ state, onChange, goTo }: StepProps) {
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        if (state.platform !== undefined) goTo('details')
      }}
    >
      <p>
        An identity lets a workload use the tokens that its platform gives it. Nothing secret is stored in the
        workload or here.
      </p>
      <RadioGroup
        className="options note"
        value={state.platform ?? null}
        onChange={(id) => onChange({ platform: choices.find((one) => one.id === id)?.id })}
      >
        <Label>Where does the workload run?</Label>
        {choices.map(({ id, title, text }) => (
          <Radio key={id} value={id} className="option">
            <span>{title}</span>
            <span className="hint">{text}</span>
          </Radio>
        ))}
      </RadioGroup>
      <div className="actions note">
        <Button type="submit" className="button" isDisabled={state.platform === undefined}>
          Continue
        </Button>
      </div>
    </Form>
  )
}
