import { Button } from 'react-aria-components'
import { FailureText } from '../components/failure.tsx'
import { focusContent } from '../components/focus-return.ts'
import { dismissLateFailure, useLateFailures } from '../components/late-failures.ts'

/** What failed after its dialog or page was closed. */
export function LateFailures() {
  return useLateFailures().map(({ id, title, failure }) => (
    <div key={id} className="alert" role="alert">
      <p>“{title}” failed after its dialog or page was closed.</p>
      <FailureText failure={failure} />
      <Button
        className="link"
        onPress={() => {
          dismissLateFailure(id)
          // This button is removed with the notice.
          focusContent()
        }}
      >
        Dismiss
      </Button>
    </div>
  ))
}
