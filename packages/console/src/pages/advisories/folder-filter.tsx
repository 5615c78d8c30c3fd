import { PickerFilter } from '../../components/picker-filter.tsx'
import { FolderPicker } from '../../components/pickers.tsx'

/** Restricts the search to a folder and all folders in it. */
export function FolderFilter() {
  return (
    <PickerFilter name="group">
      {(value, onChange) => <FolderPicker label="Folder" organization="" value={value} onChange={onChange} />}
    </PickerFilter>
  )
}
