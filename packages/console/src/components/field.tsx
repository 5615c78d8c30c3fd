import { ChevronDown } from 'lucide-react'
import {
  Button,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
  TextField,
} from 'react-aria-components'

/** Fields of forms: a label, the input, a hint, and what the server says about the value. */

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly hint?: string
  /** Why the server rejected the value. */
  readonly problem?: string | undefined
  readonly type?: 'text' | 'email'
  readonly isRequired?: boolean
  /** The first field of a dialog has the focus. */
  readonly isFirst?: boolean
}

export function Field({ label, hint, problem, isFirst, ...props }: FieldProps) {
  return (
    <TextField
      className="field"
      {...props}
      isInvalid={problem !== undefined}
      autoFocus={isFirst === true}
      autoComplete="off"
    >
      <Label>{label}</Label>
      <Input />
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="error">{problem}</FieldError>
    </TextField>
  )
}

export interface Choice {
  readonly id: string
  readonly name: string
  readonly description?: string
}

interface SelectFieldProps {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly value: string
  readonly onChange: (id: string) => void
  readonly problem?: string | undefined
}

export function SelectField({ label, choices, value, onChange, problem }: SelectFieldProps) {
  return (
    <Select
      className="field"
      placeholder="Choose"
      value={value === '' ? null : value}
      onChange={(id) => onChange(String(id ?? ''))}
      isInvalid={problem !== undefined}
    >
      <Label>{label}</Label>
      <Button className="select">
        <SelectValue />
        <ChevronDown aria-hidden size={16} />
      </Button>
      <FieldError className="error">{problem}</FieldError>
      <Popover className="popover">
        <ListBox items={choices} className="choices">
          {({ id, name, description }) => (
            <ListBoxItem id={id} textValue={name} className="choice-item">
              <span>{name}</span>
              {description && <span className="hint"> {description}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </Select>
  )
}
