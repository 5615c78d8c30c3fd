import { X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { Button, Input, Label, SearchField, TextField } from 'react-aria-components'
import { useAddressState } from '../address-state.ts'
import { type Choice, SelectField } from './field.tsx'

/** Filters of a list. Their state is in the address, so that it can be sent to a colleague and survives a reload. */

const PAUSE_MS = 300

export function FilterBar({ children }: { readonly children: ReactNode }) {
  return (
    <search className="filter-bar" aria-label="Filters">
      {children}
    </search>
  )
}

interface FilterProps {
  readonly label: string
  /** Of the parameter in the address. */
  readonly name: string
}

/** Applied when the user stops typing, or presses Enter. */
export function TextFilter({
  label,
  name,
  placeholder = '',
}: FilterProps & { readonly placeholder?: string }) {
  const [{ [name]: applied = '' }, change] = useAddressState()
  const [text, setText] = useState(applied)
  // The address changes elsewhere too: by the back button, or a chip.
  useEffect(() => setText(applied), [applied])
  useEffect(() => {
    if (text === applied) return
    const timer = setTimeout(() => change({ [name]: text.trim() }), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, applied, name, change])
  return (
    <SearchField
      className="field filter"
      value={text}
      onChange={setText}
      onSubmit={(submitted) => change({ [name]: submitted.trim() })}
    >
      <Label>{label}</Label>
      <Input placeholder={placeholder} />
    </SearchField>
  )
}

/** A day (UTC) as an ISO date. Browsers show it as their users write dates, and refuse days that do not exist. */
export function DayFilter({ label, name }: FilterProps) {
  const [{ [name]: applied = '' }, change] = useAddressState()
  return (
    <TextField className="field filter" value={applied} onChange={(day) => change({ [name]: day })}>
      <Label>{label}</Label>
      <Input type="date" />
    </TextField>
  )
}

interface SelectFilterProps extends FilterProps {
  readonly choices: readonly Choice[]
  /** The choice without a filter. */
  readonly anyLabel?: string
}

const ANY = 'any'

export function SelectFilter({ label, name, choices, anyLabel = 'Any' }: SelectFilterProps) {
  const [{ [name]: applied = ANY }, change] = useAddressState()
  return (
    <div className="filter">
      <SelectField
        label={label}
        choices={[{ id: ANY, name: anyLabel }, ...choices]}
        value={applied}
        onChange={(id) => change({ [name]: id === ANY ? '' : id })}
      />
    </div>
  )
}

interface FilterChipsProps {
  /** The filters that are set: name of the parameter, and what it says. */
  readonly set: readonly (readonly [name: string, text: string])[]
}

/** The filters that are set, each with a button that removes it. */
export function FilterChips({ set }: FilterChipsProps) {
  const [, change] = useAddressState()
  if (set.length === 0) return null
  return (
    <ul className="chips" aria-label="Active filters">
      {set.map(([name, text]) => (
        <li key={name}>
          <Button
            className="chip"
            aria-label={`Remove the filter ${text}`}
            onPress={() => change({ [name]: '' })}
          >
            {text} <X aria-hidden size={14} />
          </Button>
        </li>
      ))}
      <li>
        <Button className="link" onPress={() => change(Object.fromEntries(set.map(([name]) => [name, ''])))}>
          Remove all filters
        </Button>
      </li>
    </ul>
  )
}
