import { type ShouldBlockFn, useBlocker } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import type { AddressState } from '../address-query.ts'
import { ConfirmDialog } from './confirm-dialog.tsx'

/** Asks before something is lost. */

export interface LeaveQuestion {
  readonly title: string
  readonly text: string
  /** Leaves. */
  readonly action: string
  /** Stays. */
  readonly cancel: string
}

/** `what`: for example "The policy". */
export const unsaved = (what: string): LeaveQuestion => ({
  title: 'Discard the changes?',
  text: `${what} has changes that are not saved. They are lost if you leave.`,
  action: 'Discard changes',
  cancel: 'Keep editing',
})

const placeOf = ({ pathname, search }: { readonly pathname: string; readonly search: object }) => {
  const { tab, section } = search as AddressState
  return JSON.stringify([pathname, tab, section])
}

/** Filters and the like change the address too. What is guarded stays. */
const leavesPlace: ShouldBlockFn = ({ current, next }) => placeOf(current) !== placeOf(next)

/** While it is rendered, it asks before the user leaves the page, its tab or section. Before the window is closed, the browser asks. */
export function LeaveGuard({ question }: { readonly question: LeaveQuestion }) {
  const blocker = useBlocker({ shouldBlockFn: leavesPlace, withResolver: true })
  const { status, proceed, reset } = blocker
  const latest = useRef(blocker)
  useEffect(() => {
    latest.current = blocker
  })
  // What is guarded may end while the question is open. Then nothing is lost, and the user goes where they wanted to.
  useEffect(() => () => latest.current.proceed?.(), [])
  if (status !== 'blocked') return null
  return <LeaveDialog question={question} onStay={reset} onLeave={proceed} />
}

interface LeaveDialogProps {
  readonly question: LeaveQuestion
  readonly onStay: () => void
  readonly onLeave: () => void
}

export function LeaveDialog({
  question: { title, text, action, cancel },
  onStay,
  onLeave,
}: LeaveDialogProps) {
  return (
    <ConfirmDialog
      title={title}
      action={action}
      cancel={cancel}
      isDangerous
      onClose={onStay}
      submit={() => Promise.resolve(onLeave())}
    >
      <p>{text}</p>
    </ConfirmDialog>
  )
}
