import { useId } from 'react'
import { Button } from 'react-aria-components'

/** A button of a page. If the user lacks a permission, it is disabled and says which one. */
export function ActionButton({
  label,
  missing,
  onPress,
  isQuiet = false,
  isDanger = false,
}: {
  readonly label: string
  readonly missing: string | undefined
  readonly onPress: () => void
  readonly isQuiet?: boolean
  /** It opens the dialog of a deletion. */
  readonly isDanger?: boolean
}) {
  const reason = useId()
  return (
    <span className="action">
      <Button
        className={isDanger ? 'button danger' : isQuiet ? 'button quiet' : 'button'}
        isDisabled={missing !== undefined}
        onPress={onPress}
        {...(missing !== undefined && { 'aria-describedby': reason })}
      >
        {label}
      </Button>
      {missing !== undefined && (
        <span id={reason} className="hint">
          {missing}
        </span>
      )}
    </span>
  )
}
