import { Button } from 'react-aria-components'
import { useReason } from './reasons.tsx'

interface RowActionProps {
  readonly label: string
  /** What the action is about, for screen readers: "the tag latest". */
  readonly object: string
  /** Why the user cannot do it. The table writes it once for all rows. */
  readonly missing?: string | undefined
  readonly onPress: () => void
}

/** An action in a row of a table, or in another group with `Reasons`. */
export function RowAction({ label, object, missing, onPress }: RowActionProps) {
  const reason = useReason(label, missing)
  return (
    <Button
      className="link"
      isDisabled={missing !== undefined}
      onPress={onPress}
      aria-label={`${label} ${object}`}
      {...(reason !== undefined && { 'aria-describedby': reason })}
    >
      {label}
    </Button>
  )
}
