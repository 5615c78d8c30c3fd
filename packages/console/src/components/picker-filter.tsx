import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useAddressState } from '../address-state.ts'

interface PickerFilterProps {
  /** Of the parameter in the address. */
  readonly name: string
  readonly children: (value: string, onChange: (value: string) => void) => ReactNode
}

/** A picker as a filter of a list. */
export function PickerFilter({ name, children }: PickerFilterProps) {
  const [value, choose] = usePickedInAddress(name)
  return <div className="filter">{children(value, choose)}</div>
}

/** Returns what is chosen in a picker whose choice is in the address, and a function that changes it. */
export function usePickedInAddress(name: string): readonly [string, (value: string) => void] {
  const [{ [name]: applied = '' }, change] = useAddressState()
  // The address follows a choice a moment later, and until then the field would open its list again.
  const [value, setValue] = useState(applied)
  /** A choice that the address does not show yet. */
  const chosen = useRef('')
  useEffect(() => {
    // Typing has removed the value before the choice: the address may show that later than the choice was made.
    if (applied === '' && chosen.current !== '') return
    chosen.current = ''
    setValue(applied)
  }, [applied])
  const choose = (next: string) => {
    if (next === value) return
    chosen.current = next === applied ? '' : next
    setValue(next)
    change({ [name]: next })
  }
  return [value, choose]
}
