import { type ReactNode, useId } from 'react'
import { Button } from 'react-aria-components'
import { LeaveGuard, unsaved } from './leave-guard.tsx'

/** A form on a page with changes that are not saved yet. */

interface UnsavedChangesProps {
  /** For example "The policy". */
  readonly what: string
  /** For example "Save the policy". */
  readonly action: string
  /** Why the changes cannot be saved as they are. */
  readonly problem?: string | undefined
  readonly onSave: () => void
  readonly onDiscard: () => void
  /** What the changes would do. */
  readonly children: ReactNode
}

/** Saves or discards the changes. It stays in view while the user scrolls the form, and asks before the user leaves the form. */
export function UnsavedChanges(props: UnsavedChangesProps) {
  const { what, action, problem, onSave, onDiscard, children } = props
  const reason = useId()
  return (
    <section className="unsaved-changes" aria-label="Unsaved changes">
      <div>
        <p className="unsaved-title">Unsaved changes</p>
        <p id={reason} className="hint">
          {problem ?? children}
        </p>
      </div>
      <div className="actions">
        <Button className="button quiet" onPress={onDiscard}>
          Discard changes
        </Button>
        <Button
          className="button"
          isDisabled={problem !== undefined}
          onPress={onSave}
          {...(problem !== undefined && { 'aria-describedby': reason })}
        >
          {action}
        </Button>
      </div>
      <LeaveGuard question={unsaved(what)} />
    </section>
  )
}
