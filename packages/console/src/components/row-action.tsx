import { Button } from 'react-aria-components'

interface RowActionProps {
  readonly label: string
  /** What the action is about, for screen readers: "the tag latest". */
  readonly object: string
  /** Capability that the user lacks. */
  readonly missing?: string | undefined
  readonly onPress: () => void
}

/** An action in a row of a table. */
export function RowAction({ label, object, missing, onPress }: RowActionProps) {
  if (missing !== undefined) return <span className="hint">{missing}</span>
  return (
    <Button className="link" onPress={onPress} aria-label={`${label} ${object}`}>
      {label}
    </Button>
  )
}
