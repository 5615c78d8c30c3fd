import type { ReactNode } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

interface InfoDialogProps {
  readonly title: ReactNode
  /** The button that closes the dialog. */
  readonly close?: string
  /** Other buttons, before it. */
  readonly actions?: ReactNode
  /** As wide as a form. */
  readonly isNarrow?: boolean
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A dialog that shows something; closing it changes nothing. */
export function InfoDialog(props: InfoDialogProps) {
  const { title, close = 'Close', actions, isNarrow = false, onClose, children } = props
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(isOpen) => isOpen || onClose()} isDismissable>
      <Modal className={isNarrow ? 'modal' : 'modal wide'}>
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          {children}
          <div className="actions">
            {actions}
            <Button className="button quiet" onPress={onClose}>
              {close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
