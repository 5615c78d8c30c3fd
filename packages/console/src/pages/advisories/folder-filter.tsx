import { useEffect, useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { FolderPicker } from '../../components/pickers.tsx'

/** Restricts the search to a folder and all folders in it. */
export function FolderFilter() {
  const [{ group: applied = '' }, change] = useAddressState()
  // The address follows a choice a moment later, and until then the field would open its list again.
  const [group, setGroup] = useState(applied)
  useEffect(() => setGroup(applied), [applied])
  return (
    <div className="filter">
      <FolderPicker
        label="Folder"
        organization=""
        value={group}
        onChange={(uid) => {
          setGroup(uid)
          change({ group: uid })
        }}
      />
    </div>
  )
}
