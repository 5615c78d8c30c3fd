import type { ReactNode } from 'react'
import { ActionDialog } from './action-dialog.tsx'

interface ConfirmDialogProps {
  readonly title: string
  readonly action: string
  readonly cancel?: string
  readonly isDangerous?: boolean
  readonly onClose: () => void
  readonly submit: () => Promise<unknown>
  /** What happens. */
  readonly children: ReactNode
}

/** Asks before something is done. For what cannot be restored, `DeleteDialog` asks for the name. */
export function ConfirmDialog({ children, ...props }: ConfirmDialogProps) {
  return <ActionDialog {...props}>{() => <div className="dialog-text">{children}</div>}</ActionDialog>
}
