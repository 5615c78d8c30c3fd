import { useState } from 'react'
import { FormDialog, type FormDialogProps } from './form-dialog.tsx'
import { LeaveDialog, LeaveGuard, unsaved } from './leave-guard.tsx'

interface EditorDialogProps extends Omit<FormDialogProps, 'onSent'> {
  /** For example "The README". */
  readonly what: string
  readonly isChanged: boolean
}

/** A form with a long text: it asks before changes of the text are lost. */
export function EditorDialog({ what, isChanged, onClose, submit, ...form }: EditorDialogProps) {
  const [isClosing, setClosing] = useState(false)
  const [isSending, setSending] = useState(false)
  // Changes that are being saved are not lost.
  const isGuarded = isChanged && !isSending
  const send = async () => {
    setSending(true)
    try {
      await submit()
    } finally {
      setSending(false)
    }
  }
  const question = unsaved(what)
  return (
    <>
      <FormDialog
        {...form}
        submit={send}
        onClose={() => (isGuarded ? setClosing(true) : onClose())}
        onSent={onClose}
      />
      {isGuarded && <LeaveGuard question={question} />}
      {isClosing && <LeaveDialog question={question} onStay={() => setClosing(false)} onLeave={onClose} />}
    </>
  )
}
