import { useMutation } from '@tanstack/react-query'
import type { FormEvent, ReactNode } from 'react'
import { Button, Dialog, Form, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { hasStatus } from '../api/query-client.ts'
import { useSendWhenLoaded } from '../use-send-when-loaded.ts'
import { Failure } from './failure.tsx'
import { useFocusReturn } from './focus-return.ts'

/** Dialogs with an action. Each opens from a button or a menu, and shows what the server rejects. */

const PRECONDITION_FAILED = 412

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
  /** Fields; `failure` is that of the last attempt. */
  readonly children: (failure: unknown) => ReactNode
}

/** A dialog in which nothing is entered that can be lost. A form is a `FormDialog`. */
export function ActionDialog(props: ActionDialogProps) {
  const { title, action, cancel = 'Cancel', isDangerous, isWide, isDisabled, isLoading = false } = props
  const { onClose, submit, onSent = onClose, reload, children } = props
  useFocusReturn()
  const { mutate, error, isPending, reset } = useMutation({ mutationFn: submit, onSuccess: onSent })
  const { send, isWaiting } = useSendWhenLoaded(isLoading, () => {
    if (!isPending && isDisabled !== true) mutate()
  })
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (isDisabled !== true) send()
  }
  const isConflict = hasStatus(error, PRECONDITION_FAILED)
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      onOpenChange={(isOpen) => isOpen || onClose()}
      // A key or a click beside the dialog would hide a failure, and lose what was entered. "Close" still closes it.
      isDismissable={!isPending}
      isKeyboardDismissDisabled={isPending}
    >
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
                <Button
                  className="button quiet"
                  onPress={() => {
                    void reload?.().then(reset)
                  }}
                >
                  Load the current version
                </Button>
              </div>
            ) : (
              <Failure failure={error} />
            )}
            {children(error)}
            <div className="actions">
              <Button className="button quiet" onPress={onClose}>
                {/* What is sent cannot be cancelled. */}
                {isPending ? 'Close' : cancel}
              </Button>
              <Button
                type="submit"
                className={isDangerous ? 'button danger' : 'button'}
                isDisabled={isDisabled === true}
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
