import { BerthError } from '@berth/client'
import { useLocation } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { FormDialog, type FormDialogProps } from '../../components/form-dialog.tsx'

interface ChangeDialogProps {
  readonly title: string
  readonly action: string
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
  /** As in `FormDialog`. */
  readonly entered: FormDialogProps['entered']
  readonly onClose: () => void
  readonly submit: () => Promise<unknown>
  readonly children: ReactNode | ((failure: unknown) => ReactNode)
}

/** Confirms a change of an operator. Without a recent sign-in, it links to the sign-in in another tab: what is typed stays. */
export function ChangeDialog({ children, ...props }: ChangeDialogProps) {
  return (
    <FormDialog {...props}>
      {(failure) => (
        <>
          <SignInAgain failure={failure} />
          <div className="dialog-text">{typeof children === 'function' ? children(failure) : children}</div>
        </>
      )}
    </FormDialog>
  )
}

function SignInAgain({ failure }: { readonly failure: unknown }) {
  const { pathname, searchStr } = useLocation()
  const isNeeded =
    failure instanceof BerthError &&
    failure.preconditionViolations.some(({ type }) => type === 'RECENT_SIGN_IN_REQUIRED')
  if (!isNeeded) return null
  const request = encodeURIComponent(`/console${pathname}${searchStr}`)
  return (
    <p>
      <a href={`/sign-in?again&request=${request}`} target="_blank" rel="noopener">
        Sign in again in another tab
      </a>
      , then send the form again.
    </p>
  )
}
