import type { FindingCount } from '@berth/client'
import { Button } from 'react-aria-components'
import { useAddressState } from '../../address-state.ts'
import { formatNumber } from '../../components/quantity.tsx'
import { countBySeverity, type SeverityName, severities, severityName } from '../../components/severity.ts'
import { SeverityBar, seriesOf } from '../../components/severity-bar.tsx'
import { findingStates, stateTexts } from './finding-texts.tsx'

/** Numbers of findings by severity and state: a picture of those that affect the image, and a table of all, whose numbers filter the list. */
export function FindingCounts({ counts }: { readonly counts: readonly FindingCount[] }) {
  const [, change] = useAddressState()
  if (counts.length === 0) return null
  const states = findingStates.filter((state) => counts.some((one) => one.state === state))
  const rows = severities.filter((name) => counts.some(({ severity }) => severityName(severity) === name))
  const countOf = (name: SeverityName, state: string) =>
    Number(counts.find((one) => severityName(one.severity) === name && one.state === state)?.count ?? 0)
  return (
    <section className="finding-counts">
      <h2>By severity</h2>
      <SeverityBar counts={countBySeverity(counts)} />
      <div className="scroll">
        <table className="plain-table">
          <caption className="unseen">Number of findings by severity and state</caption>
          <thead>
            <tr>
              <th scope="col">Severity</th>
              {states.map((state) => (
                <th key={state} scope="col" className="number">
                  {stateTexts[state].name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((name) => (
              <tr key={name}>
                <th scope="row">
                  <span className={`chart-key ${seriesOf(name)}`} aria-hidden="true" />
                  {name}
                </th>
                {states.map((state) => {
                  const count = countOf(name, state)
                  const { id, name: stateName } = stateTexts[state]
                  return (
                    <td key={state} className="number">
                      {count === 0 ? (
                        <span className="muted">0</span>
                      ) : (
                        <Button
                          className="link"
                          aria-label={`Show ${count} ${name}, ${stateName.toLowerCase()}`}
                          onPress={() => change({ severity: name, state: id })}
                        >
                          {formatNumber(count)}
                        </Button>
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
