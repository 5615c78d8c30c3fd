import { type ReactNode, useId } from 'react'
import { Button } from 'react-aria-components'
import { type PossibleAction, reasonsOf, reasonText } from './reasons.tsx'

export interface Action extends PossibleAction {
  readonly isQuiet?: boolean
  readonly onPress: () => void
}

interface ActionsProps {
  readonly actions: readonly Action[]
  /** Of a page, beside its title, or of a tab, above its list. */
  readonly of?: 'page' | 'tab'
  /** Links that look like the buttons: to other pages about the same, before the actions, or what else can be done in a tab, after them. */
  readonly links?: ReactNode
}

/** Buttons that belong together. Those that the user cannot press are disabled, and each reason is written once below them. */
export function Actions({ actions, of = 'page', links }: ActionsProps) {
  const id = useId()
  const reasons = reasonsOf(actions)
  const idOf = (missing: string) => `${id}${reasons.findIndex(({ reason }) => reason === missing)}`
  return (
    <div className={`${of}-actions`}>
      {of === 'page' && links}
      {actions.map(({ label, missing, isQuiet = false, onPress }) => (
        <Button
          key={label}
          className={isQuiet ? 'button quiet' : 'button'}
          isDisabled={missing !== undefined}
          onPress={onPress}
          {...(missing !== undefined && { 'aria-describedby': idOf(missing) })}
        >
          {label}
        </Button>
      ))}
      {of === 'tab' && links}
      {reasons.map(({ reason, labels }) => (
        <span key={reason} id={idOf(reason)} className="hint">
          {/* A reason for some of several actions names them. */}
          {labels.length === actions.length ? reason : reasonText(labels, reason)}
        </span>
      ))}
    </div>
  )
}
