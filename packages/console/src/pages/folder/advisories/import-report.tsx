import { useState } from 'react'
import { Button } from 'react-aria-components'
import { Facts } from '../../../components/facts.tsx'
import { formatNumber, plural } from '../../../components/quantity.tsx'
import type { RunProgress } from './import-run/import-run.ts'

const ROWS_AT_A_TIME = 50

/** The counts of an import, and the documents that it changes or rejects. */
export function ImportReport({
  progress: { total, skipped, rows, moreRows },
  isCheck,
}: {
  readonly progress: RunProgress
  readonly isCheck: boolean
}) {
  const [shown, setShown] = useState(ROWS_AT_A_TIME)
  const count = (value: number) => formatNumber(value)
  return (
    <>
      <Facts
        facts={[
          ['Documents', count(total.documents)],
          [isCheck ? 'Advisories to create' : 'Advisories created', count(total.created)],
          [isCheck ? 'To update' : 'Updated', count(total.updated)],
          ['Unchanged', count(total.unchanged)],
          [isCheck ? 'To withdraw' : 'Withdrawn', count(total.withdrawn)],
          ['Superseded', total.covered === 0 ? undefined : count(total.covered)],
          ['Scores of vulnerabilities', total.scored === 0 ? undefined : count(total.scored)],
          ['Older than stored', total.older === 0 ? undefined : count(total.older)],
          ['Rejected', count(total.rejected)],
          ['Files without advisories', skipped === 0 ? undefined : count(skipped)],
        ]}
      />
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
        <section className="scroll note" aria-label="Documents of the import" tabIndex={0}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Document</th>
                <th scope="col">Result</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shown).map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows are only appended, and two can have the same name
                <tr key={at}>
                  <th scope="row" className="document-id">
                    <bdi>{row.name}</bdi>
                  </th>
                  <td className="result">
                    {row.reason === '' ? (
                      row.result
                    ) : (
                      <>
                        <strong>Rejected</strong>
                        {row.line > 0 && `, line ${row.line}`}: <bdi>{row.reason}</bdi>
                      </>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {rows.length > shown && (
        <div className="more">
          <Button className="button quiet" onPress={() => setShown(shown + ROWS_AT_A_TIME)}>
            Show more
          </Button>
        </div>
      )}
      {moreRows > 0 && (
        <p className="muted">
          {plural(moreRows, 'further document')} {moreRows === 1 ? 'is' : 'are'} counted and not listed here.
          The command line lists all.
        </p>
      )}
    </>
  )
}
