import type { ExchangeCondition, ExplainExchangeResponse, Identity } from '@berth/client'
import { CircleCheck, CircleHelp, CircleX } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { api } from '../../api/client.ts'
import { messageOf, violationOf } from '../../api/query-client.ts'
import { session } from '../../api/session.ts'
import { Equivalent } from '../../components/copy.tsx'
import { FileDrop } from '../../components/drop-zone.tsx'
import { SelectField, TextAreaField } from '../../components/field.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { useLatestSignal } from '../../use-latest-signal.ts'

const FILE_BYTES_MAX = 65_536

/**
 * Tests whether a token can assume the identity. The token is in the state of this component only: not in the address and not in the cache
 * of queries, and it is gone when the user leaves or clears it.
 */
export function Explain({ identity }: { readonly identity: Identity }) {
  const [token, setToken] = useState('')
  const [audience, setAudience] = useState(session.apiUrl)
  const [work, setWork] = useState<'test' | 'read' | undefined>()
  const [result, setResult] = useState<ExplainExchangeResponse | undefined>()
  const [failure, setFailure] = useState<unknown>()
  const nextSignal = useLatestSignal()
  /** The result is that of the token and the audience in the fields: with others, it is gone, and one that arrives later is not shown. */
  const restart = () => {
    setWork(undefined)
    setResult(undefined)
    setFailure(undefined)
    return nextSignal()
  }
  const type = (next: string) => {
    restart()
    setToken(next)
  }
  /** Does what takes a while, until something else is wanted. */
  const run = async <T,>(kind: 'test' | 'read', action: () => Promise<T>, show: (value: T) => void) => {
    const signal = restart()
    setWork(kind)
    try {
      const value = await action()
      if (!signal.aborted) show(value)
    } catch (error) {
      if (!signal.aborted) setFailure(error)
    } finally {
      if (!signal.aborted) setWork(undefined)
    }
  }
  const test = (event: FormEvent) => {
    event.preventDefault()
    if (work !== undefined || token.trim() === '') return
    const request = { identity: identity.uid, token: token.trim(), audience }
    void run('test', () => api.explain.explainExchange(request), setResult)
  }
  const readFile = ([file]: readonly File[]) => {
    if (file === undefined) return
    void run(
      'read',
      () => textOf(file),
      (text) => setToken(text.trim()),
    )
  }
  const problem = violationOf(failure, 'token')
  return (
    <>
      <p className="muted">
        The server compares the token with each condition, as an exchange would. The token is not stored, and
        nothing signs in with it.
      </p>
      <Form className="page-form note" onSubmit={test} validationBehavior="aria">
        <TextAreaField
          label="Token"
          hint="The token that the platform gives to the workload, usually a JWT that starts with eyJ"
          value={token}
          onChange={type}
          problem={problem}
          isMonospace
        />
        <FileDrop
          label="Or a file with the token"
          accepted={['.jwt', '.txt', 'text/plain', 'application/jwt']}
          isSingle
          onFiles={readFile}
        />
        <SelectField
          label="Audience to request"
          choices={[
            { id: session.apiUrl, name: `The API (${session.apiUrl})` },
            { id: session.registryHost, name: `The registry (${session.registryHost})` },
          ]}
          value={audience}
          onChange={(next) => {
            restart()
            setAudience(next)
          }}
          problem={violationOf(failure, 'audience')}
        />
        <div className="actions">
          <Button className="button quiet" onPress={() => type('')}>
            Clear
          </Button>
          <Button type="submit" className="button" isDisabled={work !== undefined || token.trim() === ''}>
            {work === 'test' ? 'Testing…' : work === 'read' ? 'Reading the file…' : 'Test the token'}
          </Button>
        </div>
      </Form>
      {failure !== undefined && problem === undefined && (
        <p className="alert" role="alert">
          {messageOf(failure)}
        </p>
      )}
      {result !== undefined && <Result result={result} />}
      <Equivalent
        command={`berth auth explain --identity ${identity.uid} --identity-token token.jwt --target-audience ${audience}`}
      />
    </>
  )
}

async function textOf(file: File): Promise<string> {
  if (file.size > FILE_BYTES_MAX) throw new Error('The file is too large for a token.')
  return file.text()
}

function Result({ result }: { readonly result: ExplainExchangeResponse }) {
  return (
    <section aria-label="Result">
      <p className={result.accepted ? 'notice' : 'alert'} role="status">
        {result.accepted
          ? 'The token is accepted: an exchange would succeed now.'
          : 'The token is not accepted. The list ends with the first condition that is not met.'}
      </p>
      <PlainTable
        label="Conditions"
        items={result.conditions}
        keyOf={({ name }) => name}
        columns={[
          { id: 'condition', title: 'Condition', cell: ({ name }) => titleOf(name) },
          { id: 'result', title: 'Result', cell: ({ outcome }) => <Outcome outcome={outcome} /> },
          {
            id: 'expected',
            title: 'Expected',
            cell: ({ expected, hint }) => (
              <>
                <code>{expected}</code>
                {hint !== '' && <span className="second">{hint}</span>}
              </>
            ),
          },
          { id: 'actual', title: 'In the token', cell: ({ actual }) => <code>{actual}</code> },
        ]}
      />
    </section>
  )
}

/** `claims.ref` is the claim ref, `keys_expiration` is Keys expiration. */
function titleOf(name: string): string {
  if (name.startsWith('claims.')) return `Claim ${name.slice('claims.'.length)}`
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function Outcome({ outcome }: { readonly outcome: ExchangeCondition['outcome'] }) {
  if (outcome === 'OUTCOME_OK')
    return (
      <span className="outcome good">
        <CircleCheck aria-hidden size={16} /> Met
      </span>
    )
  if (outcome === 'OUTCOME_FAILED')
    return (
      <span className="outcome bad">
        <CircleX aria-hidden size={16} /> Not met
      </span>
    )
  return (
    <span className="outcome">
      <CircleHelp aria-hidden size={16} /> Not tested
    </span>
  )
}
