import type { ReactNode } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'

interface InfoDialogProps {
  readonly title: ReactNode
  readonly onClose: () => void
  readonly children: ReactNode
}

/** A wide dialog that shows something, and changes nothing. */
export function InfoDialog({ title, onClose, children }: InfoDialogProps) {
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(isOpen) => isOpen || onClose()} isDismissable>
      <Modal className="modal wide">
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          {children}
          <div className="actions">
            <Button className="button quiet" onPress={onClose}>
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
