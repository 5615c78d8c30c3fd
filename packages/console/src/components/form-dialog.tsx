import { type ReactNode, useState } from 'react'
import { ActionDialog, type ActionDialogProps } from './action-dialog.tsx'
import { Field } from './field.tsx'
import { LeaveDialog, LeaveGuard, unsaved } from './leave-guard.tsx'

/** Dialogs with a form: what a user entered is not lost by a key or a click beside the dialog. */

export interface FormDialogProps extends ActionDialogProps {
  /** What the user enters, as the fields have it. If it is not what it was first, the dialog asks before it closes. `null`: nothing can be lost. */
  readonly entered: object | string | null
  /** What has the changes, for example "The README". */
  readonly what?: string
}

export function FormDialog({ entered, what = 'The form', ...form }: FormDialogProps) {
  const { onClose, onSent = onClose, submit, reload } = form
  const current = JSON.stringify(entered)
  const [first, setFirst] = useState(current)
  /** What was entered before the current version was loaded. */
  const [replaced, setReplaced] = useState<string>()
  const [isClosing, setClosing] = useState(false)
  const [isSending, setSending] = useState(false)
  if (replaced !== undefined) {
    // A form that keeps what was entered beside the new version can still lose it.
    if (replaced !== current) setFirst(current)
    setReplaced(undefined)
  }
  const isChanged = current !== first
  const question = unsaved(what)
  const send = async () => {
    setSending(true)
    try {
      await submit()
    } finally {
      setSending(false)
    }
  }
  return (
    <>
      <ActionDialog
        {...form}
        submit={send}
        // What is being sent is not lost.
        onClose={() => (isChanged && !isSending ? setClosing(true) : onClose())}
        onSent={onSent}
        {...(reload !== undefined && {
          reload: async () => {
            await reload()
            setReplaced(current)
          },
        })}
      />
      {isChanged && <LeaveGuard question={question} />}
      {isClosing && <LeaveDialog question={question} onStay={() => setClosing(false)} onLeave={onClose} />}
    </>
  )
}

interface DeleteDialogProps extends Pick<ActionDialogProps, 'onClose' | 'submit'> {
  /** For example "folder". */
  readonly kind: string
  readonly name: string
  readonly children: ReactNode
}

/** Deletes after the user typed the name, which is not worth a question when the dialog closes. */
export function DeleteDialog({ kind, name, children, ...rest }: DeleteDialogProps) {
  const [typed, setTyped] = useState('')
  return (
    <ActionDialog
      {...rest}
      title={`Delete the ${kind}`}
      action={`Delete the ${kind}`}
      isDangerous
      isDisabled={typed !== name}
    >
      {() => (
        <>
          <p>{children}</p>
          <Field label={`Type ${name} to confirm`} value={typed} onChange={setTyped} isFirst />
        </>
      )}
    </ActionDialog>
  )
}
