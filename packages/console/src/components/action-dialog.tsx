import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useRef } from 'react'
import { Button, Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { PRECONDITION_FAILED } from '../api/http-status.ts'
import { hasStatus, messageOf } from '../api/query-client.ts'
import { useIsShown } from '../use-is-shown.ts'
import { useSendWhenLoaded } from '../use-send-when-loaded.ts'
import { Failure } from './failure.tsx'
import { useFocusReturn } from './focus-return.ts'
import { reportLateFailure } from './late-failures.ts'

/** Dialogs with an action. Each opens from a button or a menu, and shows what the server rejects. */

export interface ActionDialogProps {
  readonly title: string
  readonly action: string
  /** The button that closes the dialog without the action. */
  readonly cancel?: string
  readonly isDangerous?: boolean
  /** For text that needs the width of the page. */
  readonly isWide?: boolean
  /** The action is not possible yet, for example because nothing is typed. */
  readonly isDisabled?: boolean
  /** What the action needs is loading: sent before, it starts as soon as that has loaded. Not for what deletes. */
  readonly isLoading?: boolean
  readonly onClose: () => void
  /** Sends the form. The dialog closes when it resolves, and shows its failure. */
  readonly submit: () => Promise<unknown>
  /** Instead of closing the dialog. */
  readonly onSent?: () => void
  /** Loads the current version of what was edited, after a conflict. */
  readonly reload?: () => Promise<unknown>
  /** Instead of showing the form with the current version. */
  readonly onReloaded?: () => void
  /** The page shows the progress and the failure of the action after the dialog is closed. */
  readonly hasNotice?: boolean
  /** Fields; `failure` is that of the last attempt. */
  readonly children: (failure: unknown) => ReactNode
}

/** A dialog in which nothing is entered that can be lost. A form is a `FormDialog`. */
export function ActionDialog(props: ActionDialogProps) {
  const { title, action, cancel = 'Cancel', isDangerous, isWide, isDisabled, isLoading = false } = props
  const { onClose, submit, onSent = onClose, reload, onReloaded, hasNotice = false, children } = props
  useFocusReturn()
  // `isPending` follows later: a second press in between would send the form twice.
  const isSent = useRef(false)
  const isShown = useIsShown()
  const { mutate, error, isPending, reset } = useMutation({
    mutationFn: submit,
    // Closed meanwhile: the next dialog is not this one.
    onSuccess: () => isShown.current && onSent(),
    onError: (failure) => isShown.current || hasNotice || reportLateFailure(title, failure),
    onSettled: () => {
      isSent.current = false
    },
  })
  const current = useMutation({
    mutationFn: async () => reload?.(),
    onSuccess: () => {
      reset()
      if (isShown.current) onReloaded?.()
    },
  })
  const isRefused = isDisabled === true || current.isPending
  const { send, isWaiting } = useSendWhenLoaded(isLoading, () => {
    if (isSent.current || isRefused) return
    isSent.current = true
    current.reset()
    mutate()
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (!isRefused) send()
  }
  // A key or a click beside the dialog would hide a failure, and lose what was entered. "Close" still closes it.
  const onOpenChange = (isOpen: boolean) => isOpen || isSent.current || onClose()
  const isConflict = hasStatus(error, PRECONDITION_FAILED)
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={onOpenChange} isDismissable>
      <Modal className={isWide ? 'modal wide' : 'modal'}>
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          <Form onSubmit={onSubmit} validationBehavior="aria">
            {isConflict ? (
              <div className="alert" role="alert">
                <p>
                  Someone else changed this in the meantime. Load the current version, and then apply your
                  change again.
                </p>
                {current.error !== null && <p>{messageOf(current.error)}</p>}
                <Button
                  className="button quiet"
                  onPress={() => current.mutate()}
                  isPending={current.isPending}
                >
                  Load the current version
                </Button>
              </div>
            ) : (
              <Failure failure={error} />
            )}
            {/* The current version replaces what is entered. */}
            <fieldset className="dialog-fields" disabled={current.isPending} inert={current.isPending}>
              {children(error)}
            </fieldset>
            <div className="actions">
              <Button className="button quiet" onPress={onClose}>
                {/* What is sent cannot be cancelled. */}
                {isPending ? 'Close' : cancel}
              </Button>
              <Button
                type="submit"
                className={isDangerous ? 'button danger' : 'button'}
                isDisabled={isRefused}
                isPending={isPending}
              >
                {isPending || isWaiting ? 'Working…' : action}
              </Button>
            </div>
          </Form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
