import { BerthError } from '@berth/client'
import { messageOf } from '../api/query-client.ts'

/** A failure in the place of what could not be shown. */
export function Problem({ title, failure }: { readonly title: string; readonly failure: unknown }) {
  const requestId = failure instanceof BerthError ? failure.requestId : ''
  return (
    <section className="problem" role="alert">
      <h2>{title}</h2>
      <p>{messageOf(failure)}</p>
      {requestId && <p className="muted">Request {requestId}</p>}
    </section>
  )
}
