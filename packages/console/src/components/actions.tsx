import { useId } from 'react'
import { Button } from 'react-aria-components'

export interface Action {
  readonly label: string
  /** Why the user cannot do it; undefined if it is permitted. */
  readonly missing: string | undefined
  readonly isQuiet?: boolean
  readonly onPress: () => void
}

interface ActionsProps {
  readonly actions: readonly Action[]
  /** Of a page, beside its title, or of a tab, above its list. */
  readonly of?: 'page' | 'tab'
}

/** Buttons that belong together. Those that the user cannot press are disabled, and each reason is written once below them. */
export function Actions({ actions, of = 'page' }: ActionsProps) {
  const id = useId()
  const reasons = [...new Set(actions.flatMap(({ missing }) => missing ?? []))]
  return (
    <div className={`${of}-actions`}>
      {actions.map(({ label, missing, isQuiet = false, onPress }) => (
        <Button
          key={label}
          className={isQuiet ? 'button quiet' : 'button'}
          isDisabled={missing !== undefined}
          onPress={onPress}
          {...(missing !== undefined && { 'aria-describedby': `${id}${reasons.indexOf(missing)}` })}
        >
          {label}
        </Button>
      ))}
      {reasons.map((reason, at) => (
        <span key={reason} id={`${id}${at}`} className="hint">
          {textOf(reason, actions)}
        </span>
      ))}
    </div>
  )
}

/** A reason for some of several actions names them. */
function textOf(reason: string, actions: readonly Action[]): string {
  const of = actions.filter(({ missing }) => missing === reason)
  return of.length === actions.length ? reason : `${of.map(({ label }) => label).join(', ')}: ${reason}`
}
