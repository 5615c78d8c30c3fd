import { BerthError } from '@berth/client'
import { useLayoutEffect, useState } from 'react'
import { UNAUTHENTICATED } from '../api/http-status.ts'
import { hasStatus, messageOf, otherViolations } from '../api/query-client.ts'
import { SignInLink } from './sign-in-link.tsx'

interface FailureProps {
  readonly failure: unknown
}

/** What the server rejected of a form, except for what its fields show. */
export function Failure({ failure }: FailureProps) {
  const [others, setOthers] = useState<readonly string[]>([])
  // Fields ask for their violations while they render, so the others are known afterwards.
  useLayoutEffect(() => setOthers(otherViolations(failure)), [failure])
  if (failure === null) return null
  if (hasFieldViolations(failure) && others.length === 0) return null
  return (
    <div className="alert" role="alert">
      <FailureText failure={failure} violations={others} />
    </div>
  )
}

interface FailureTextProps extends FailureProps {
  /** Violations of fields to list; by default all that no field shows. */
  readonly violations?: readonly string[]
}

/** The message of a failure, with its violations. */
export function FailureText({ failure, violations = otherViolations(failure) }: FailureTextProps) {
  const isOfFields = hasFieldViolations(failure)
  const preconditions = failure instanceof BerthError ? failure.preconditionViolations : []
  const lines = isOfFields ? violations : preconditions.map(({ description }) => description)
  return (
    <>
      <p>{isOfFields ? 'The server rejected these values.' : messageOf(failure)}</p>
      {hasStatus(failure, UNAUTHENTICATED) && (
        <p>
          <SignInLink />, then send the form again.
        </p>
      )}
      {lines.length > 0 && (
        <ul>
          {[...new Set(lines)].map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
    </>
  )
}

const hasFieldViolations = (failure: unknown): boolean =>
  failure instanceof BerthError && failure.fieldViolations.length > 0
