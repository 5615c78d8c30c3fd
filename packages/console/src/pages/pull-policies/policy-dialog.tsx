import type { Policy, ValidatePolicyResponse } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { api } from '../../api/client.ts'
import { messageOf, violationOf } from '../../api/query-client.ts'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { TextAreaField } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { refreshPolicies } from './override-dialog.tsx'

interface PolicyDialogProps {
  /** uid of the folder. */
  readonly uid: string
  readonly path: string
  /** What is edited; a new policy without. */
  readonly policy?: Policy
  readonly onClose: () => void
}

const EXAMPLE = `// param days: integer = 30 -- age that is accepted
now - image.created < duration("720h")
  && image.vulnerabilities.all(v, v.severity != "critical" || v.days < params.days)`

/** Creates or edits a custom policy, and checks its expression. */
export function PolicyDialog({ uid, path, policy, onClose }: PolicyDialogProps) {
  const [naming, setNaming] = useState({
    name: policy?.name ?? '',
    description: policy?.description ?? '',
  })
  const [expression, setExpression] = useState(policy?.expression ?? EXAMPLE)
  const check = useMutation({
    mutationFn: () => api.policies.validatePolicy({ expression, type: 'EXPRESSION_TYPE_CEL' }),
  })
  return (
    <FormDialog
      what="The policy"
      entered={{ naming, expression }}
      title={policy === undefined ? 'Create a policy' : 'Edit the policy'}
      action={policy === undefined ? 'Create the policy' : 'Save'}
      isWide
      isDisabled={naming.name === '' || expression.trim() === ''}
      onClose={onClose}
      submit={async () => {
        const values = { ...naming, expression }
        if (policy === undefined) await api.policies.create(uid, values)
        else await api.policies.update({ id: policy.id, ...values })
        await refreshPolicies()
      }}
    >
      {(failure) => (
        <>
          <NameFields
            value={naming}
            onChange={setNaming}
            hint="Lowercase letters, digits, spaces, and . _ -"
            failure={failure}
          />
          <TextAreaField
            label="Expression"
            value={expression}
            onChange={(text) => {
              setExpression(text)
              check.reset()
            }}
            rows={8}
            isMonospace
            hint="CEL, true for an image that may be pulled. Variables are image, params and now; comment lines declare parameters."
            problem={violationOf(failure, 'expression')}
          />
          <div className="policy-check">
            <Button className="button quiet" isDisabled={check.isPending} onPress={() => check.mutate()}>
              Check the expression
            </Button>
            <div role="status">
              {check.data !== undefined && <CheckResult result={check.data} />}
              {check.error !== null && <p className="alert">{messageOf(check.error)}</p>}
            </div>
          </div>
          {policy === undefined && (
            <Equivalent
              command={`berth policies create ${quoted(naming.name || 'NAME')} --parent ${quoted(path)} --file policy.cel`}
            />
          )}
        </>
      )}
    </FormDialog>
  )
}

function CheckResult({ result: { valid, errors } }: { readonly result: ValidatePolicyResponse }) {
  if (valid) return <p>The expression is valid.</p>
  return (
    <ul className="problem-list">
      {errors.map(({ line, column, message }) => (
        <li key={`${line} ${column} ${message}`}>
          {line > 0 && (
            <span className="muted">
              line {line}
              {column > 0 && `, column ${column}`}:{' '}
            </span>
          )}
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  )
}
