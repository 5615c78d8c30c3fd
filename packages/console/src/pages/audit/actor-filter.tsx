import { PickerFilter } from '../../components/picker-filter.tsx'
import { ActorPicker } from '../../components/pickers.tsx'

export function ActorFilter() {
  return (
    <PickerFilter name="actor">
      {(value, onChange) => <ActorPicker label="Who" value={value} onChange={onChange} />}
    </PickerFilter>
  )
}
