import { BerthError } from '@berth/client'
import { Button } from 'react-aria-components'
import { messageOf } from '../api/query-client.ts'

/** A failure in the place of what could not be shown. */
export function Problem({
  title,
  failure,
  onRetry,
}: {
  readonly title: string
  readonly failure: unknown
  readonly onRetry?: () => void
}) {
  const requestId = failure instanceof BerthError ? failure.requestId : undefined
  return (
    <section className="problem" role="alert">
      <h2>{title}</h2>
      <p>{messageOf(failure)}</p>
      {requestId && <p className="muted">Request {requestId}</p>}
      {onRetry && (
        <Button className="button quiet" onPress={onRetry}>
          Try again
        </Button>
      )}
    </section>
  )
}
