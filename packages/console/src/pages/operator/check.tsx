import type { CheckResult } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Badge, type Tone } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Problem } from '../../components/problem.tsx'
import { plural } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

/** The checks of `berth admin check`, on demand. */

const outcomes: Readonly<Record<CheckResult['outcome'], readonly [Tone, string]>> = {
  CHECK_OUTCOME_UNSPECIFIED: ['plain', 'unknown'],
  CHECK_OUTCOME_OK: ['good', 'ok'],
  CHECK_OUTCOME_WARNING: ['warn', 'warning'],
  CHECK_OUTCOME_FAILED: ['bad', 'failed'],
}

export function Check() {
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => api.operatorNodes.checkInstallation({}),
  })
  const wrong = data?.results.filter(({ outcome }) => outcome !== 'CHECK_OUTCOME_OK').length ?? 0
  return (
    <>
      <p>
        Checks the configuration, database, blob store, keys, clock, disk and addresses of the node that
        responds. Secrets are not shown.
      </p>
      <div className="tab-actions">
        <ActionButton
          label={isPending ? 'Checking…' : 'Run the checks'}
          missing={undefined}
          onPress={() => isPending || mutate()}
        />
      </div>
      {error !== null && <Problem title="Checks not available" failure={error} onRetry={() => mutate()} />}
      {data !== undefined && (
        <>
          <p role="status">
            {wrong === 0
              ? 'Everything is in order'
              : `${plural(wrong, 'check needs', 'checks need')} attention`}{' '}
            on {data.nodeName}, <Time value={data.checkTime} />.
          </p>
          <ul className="checks">
            {data.results.map((result) => (
              <Result key={`${result.name} ${result.message}`} result={result} />
            ))}
          </ul>
        </>
      )}
      <Equivalent command="berth admin check" />
    </>
  )
}

function Result({ result: { name, outcome, message, action } }: { readonly result: CheckResult }) {
  const [tone, text] = outcomes[outcome]
  return (
    <li>
      <Badge tone={tone}>{text}</Badge> <strong>{name}</strong>: {message}
      {action !== '' && <span className="second">{action}</span>}
    </li>
  )
}
