import { type ReactNode, useEffect, useState } from 'react'
import { useAddressState } from '../address-state.ts'

interface PickerFilterProps {
  /** Of the parameter in the address. */
  readonly name: string
  readonly children: (value: string, onChange: (value: string) => void) => ReactNode
}

/** A picker as a filter of a list. */
export function PickerFilter({ name, children }: PickerFilterProps) {
  const [{ [name]: applied = '' }, change] = useAddressState()
  // The address follows a choice a moment later, and until then the field would open its list again.
  const [value, setValue] = useState(applied)
  useEffect(() => setValue(applied), [applied])
  return (
    <div className="filter">
      {children(value, (next) => {
        setValue(next)
        change({ [name]: next })
      })}
    </div>
  )
}
