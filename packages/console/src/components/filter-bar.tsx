import { X } from 'lucide-react'
import { type ReactNode, useCallback, useEffect, useRef, useState } from 'react'
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
  const { text, type, apply } = useTyped(name)
  return (
    <SearchField className="field filter" value={text} onChange={type} onSubmit={apply}>
      <Label>{label}</Label>
      <Input placeholder={placeholder} />
    </SearchField>
  )
}

/** A day (UTC) as an ISO date. Browsers show it as their users write dates, and refuse days that do not exist. */
export function DayFilter(props: FilterProps) {
  return <CalendarFilter {...props} kind="date" />
}

/** A time in the zone of the browser, without a zone. */
export function TimeFilter(props: FilterProps) {
  return <CalendarFilter {...props} kind="datetime-local" />
}

function CalendarFilter({ label, name, kind }: FilterProps & { readonly kind: 'date' | 'datetime-local' }) {
  const { text, type } = useTyped(name)
  return (
    <TextField className="field filter" value={text} onChange={type}>
      <Label>{label}</Label>
      <Input type={kind} />
    </TextField>
  )
}

/** Returns what is typed in a field of a filter. `type` changes it, `apply` does not wait until the user stops typing. */
function useTyped(name: string) {
  const [{ [name]: applied = '' }, change] = useAddressState()
  const [text, setText] = useState(applied)
  // The address follows later: until it does, it must not replace what is typed.
  const isTyping = useRef(false)
  /** What the address is about to have. */
  const sent = useRef<string>(undefined)
  const seen = useRef(applied)
  const apply = useCallback(
    (next: string) => {
      sent.current = next.trim()
      change({ [name]: next.trim() })
    },
    [name, change],
  )
  useEffect(() => {
    if (seen.current !== applied) sent.current = undefined
    seen.current = applied
    if (text.trim() === (sent.current ?? applied)) {
      if (sent.current === undefined) isTyping.current = false
      return
    }
    // The address changes elsewhere too: by the back button, or a chip.
    if (!isTyping.current) {
      setText(applied)
      return
    }
    const timer = setTimeout(() => apply(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, applied, apply])
  return {
    text,
    type: (next: string) => {
      isTyping.current = true
      setText(next)
    },
    apply,
  }
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
