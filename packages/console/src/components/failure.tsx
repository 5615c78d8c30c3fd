import { BerthError } from '@berth/client'
import { useLayoutEffect, useState } from 'react'
import { UNAUTHENTICATED } from '../api/http-status.ts'
import { hasStatus, messageOf, otherViolations } from '../api/query-client.ts'

/** What the server rejected of a form, except for what its fields show. */
export function Failure({ failure }: { readonly failure: unknown }) {
  const [others, setOthers] = useState<readonly string[]>([])
  // Fields ask for their violations while they render, so the others are known afterwards.
  useLayoutEffect(() => setOthers(otherViolations(failure)), [failure])
  if (failure === null) return null
  const error = failure instanceof BerthError ? failure : undefined
  const isOfFields = error !== undefined && error.fieldViolations.length > 0
  if (isOfFields && others.length === 0) return null
  const lines = isOfFields
    ? others
    : (error?.preconditionViolations.map(({ description }) => description) ?? [])
  return (
    <div className="alert" role="alert">
      <p>{isOfFields ? 'The server rejected these values.' : messageOf(failure)}</p>
      {hasStatus(failure, UNAUTHENTICATED) && (
        <p>
          <a href={location.pathname + location.search} target="_blank" rel="noopener">
            Sign in in another tab
          </a>
          , then send the form again.
        </p>
      )}
      {lines.length > 0 && (
        <ul>
          {[...new Set(lines)].map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  )
}
