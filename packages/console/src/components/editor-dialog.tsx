import { useState } from 'react'
import { FormDialog, type FormDialogProps } from './form-dialog.tsx'
import { LeaveDialog, LeaveGuard, unsaved } from './leave-guard.tsx'

interface EditorDialogProps extends Omit<FormDialogProps, 'onSent'> {
  /** For example "The README". */
  readonly what: string
  readonly isChanged: boolean
}

/** A form with a long text: it asks before changes of the text are lost. */
export function EditorDialog({ what, isChanged, onClose, ...form }: EditorDialogProps) {
  const [isClosing, setClosing] = useState(false)
  const question = unsaved(what)
  return (
    <>
      <FormDialog {...form} onClose={() => (isChanged ? setClosing(true) : onClose())} onSent={onClose} />
      {isChanged && <LeaveGuard question={question} />}
      {isClosing && <LeaveDialog question={question} onStay={() => setClosing(false)} onLeave={onClose} />}
    </>
  )
}
