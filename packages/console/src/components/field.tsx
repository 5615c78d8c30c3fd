import { Check, ChevronDown } from 'lucide-react'
import type { ReactNode } from 'react'
import {
  Button,
  Checkbox,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Switch,
  Text,
  TextArea,
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
  readonly type?: 'text' | 'email' | 'url' | 'password' | 'datetime-local'
  /** The keyboard of phones: digits only. */
  readonly inputMode?: 'text' | 'numeric'
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
      <Hint text={hint} />
      <FieldError className="error">{problem}</FieldError>
    </TextField>
  )
}

interface TextAreaFieldProps extends FieldProps {
  readonly rows?: number
  /** Code, keys and tokens. */
  readonly isMonospace?: boolean
}

export function TextAreaField(props: TextAreaFieldProps) {
  const { label, hint, problem, isFirst, rows = 5, isMonospace = false, ...rest } = props
  return (
    <TextField
      className="field"
      {...rest}
      isInvalid={problem !== undefined}
      autoFocus={isFirst === true}
      autoComplete="off"
    >
      <Label>{label}</Label>
      <TextArea rows={rows} spellCheck={!isMonospace} className={isMonospace ? 'monospace' : ''} />
      <Hint text={hint} />
      <FieldError className="error">{problem}</FieldError>
    </TextField>
  )
}

function Hint({ text }: { readonly text: string | undefined }) {
  if (!text) return null
  return (
    <Text slot="description" className="hint">
      {text}
    </Text>
  )
}

interface ToggleProps {
  readonly isSelected: boolean
  readonly onChange: (isSelected: boolean) => void
  readonly isDisabled?: boolean
  readonly children: ReactNode
}

/** A choice that applies when its form is sent. */
export function CheckboxField({ children, ...props }: ToggleProps) {
  return (
    <Checkbox className="checkbox" {...props}>
      <span className="checkbox-box" aria-hidden>
        <Check size={14} />
      </span>
      {children}
    </Checkbox>
  )
}

/** A setting that is on or off. */
export function SwitchField({ children, ...props }: ToggleProps) {
  return (
    <Switch className="switch" {...props}>
      <span className="switch-track" aria-hidden />
      {children}
    </Switch>
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
  readonly hint?: string
  readonly problem?: string | undefined
  readonly isDisabled?: boolean
}

export function SelectField({
  label,
  choices,
  value,
  onChange,
  hint,
  problem,
  isDisabled,
}: SelectFieldProps) {
  return (
    <Select
      className="field"
      placeholder="Choose"
      value={value === '' ? null : value}
      onChange={(id) => onChange(String(id ?? ''))}
      isInvalid={problem !== undefined}
      isDisabled={isDisabled === true}
    >
      <Label>{label}</Label>
      <Button className="select">
        <SelectValue />
        <ChevronDown aria-hidden size={16} />
      </Button>
      <Hint text={hint} />
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
