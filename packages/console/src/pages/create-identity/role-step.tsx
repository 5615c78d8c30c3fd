import type { Identity, IdentityInput } from '@berth/client'
import { createIdentityWithRoles } from '@berth/workloads/creation.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { rolesQuery } from '../../api/queries/iam/access.ts'
import { violationOf } from '../../api/query-client.ts'
import { forgetRequestKey, requestKey } from '../../api/request-key.ts'
import { useRequest } from '../../api/use-request.ts'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Failure } from '../../components/failure.tsx'
import { NameFields } from '../../components/name-fields.tsx'
import { RolePicker } from '../../components/pickers.tsx'
import { useLeave } from '../../use-page.ts'
import { useSendWhenLoaded } from '../../use-send-when-loaded.ts'
import type { StepProps } from './create-identity.tsx'
import { commandOf, proposedName, ruleOf } from './wizard.ts'

/** What each platform does most often. */
const PUSH_ROLE = 'registry.push'
const PULL_ROLE = 'registry.pull'

interface Creation {
  readonly parent: string
  readonly identity: IdentityInput
  readonly roles: readonly string[]
}

/** The last step: the name and the role, and the creation of both or neither. */
export function RoleStep({ folder, state, onChange, goTo }: StepProps) {
  const leave = useLeave()
  const organization = organizationOf(folder.uid)
  const path = usePath(folder.uid, folder.name)
  const missing = useAccess().missing(folder.uid, 'role_bindings.create')
  // Until the roles are known, neither is the proposed one: an identity that is created now would lack it.
  const { data: roles = [], isPending, error: unread } = useQuery(rolesQuery(organization))
  const proposal = state.platform === 'kubernetes' ? PULL_ROLE : PUSH_ROLE
  const proposed = missing === undefined ? roles.find(({ name }) => name === proposal)?.uid : ''
  const role = state.role ?? proposed ?? ''
  const [typedName, setTypedName] = useState(state.name !== '')
  const name = typedName ? state.name : state.name || proposedName(state)
  const [isBlocked, setBlocked] = useState(false)
  const read = ruleOf(state)
  const creation = useRequest({
    action: 'create-identity',
    title: 'Create the identity',
    send: (input: Creation) =>
      createIdentityWithRoles(api, input.parent, input.identity, input.roles, {
        idempotencyKey: requestKey(input),
        onFailed: () => forgetRequestKey(input),
      }),
    onSent: async ({ uid }, input) => {
      await refreshAccess()
      await leave({
        to: '/identities/$',
        params: { _splat: uid },
        search: { tab: 'workflow', created: 'yes' },
        replace: true,
      })
      forgetRequestKey(input)
    },
  })
  const input: Creation = {
    parent: folder.uid,
    identity: { name, description: state.description, ...('rule' in read && read.rule) },
    roles: role === '' ? [] : [role],
  }
  const isWorking = creation.isRunning(input)
  // The entries of the history before the identity still have the form that created it.
  const created = creation.resultOf(input)
  const failure = isBlocked ? unread : creation.error
  const create = () => {
    if (name === '') return
    if ('problems' in read) return goTo('details')
    const lacksProposal = unread !== null && state.role === undefined && missing === undefined
    setBlocked(lacksProposal)
    if (!lacksProposal) creation.send(input)
  }
  const { send, isWaiting } = useSendWhenLoaded(isPending, create)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (name !== '') send()
  }
  return (
    <Form className="page-form" onSubmit={onSubmit} validationBehavior="aria">
      {'rule' in read && (
        <p>
          The identity trusts <strong>{trustOf(read.rule)}</strong>.
        </p>
      )}
      <Failure failure={failure} />
      {created !== undefined && (
        <p className="notice" role="status">
          This form has created an identity.{' '}
          <Link to="/identities/$" params={{ _splat: created.uid }}>
            Open the identity
          </Link>
        </p>
      )}
      <NameFields
        value={{ name, description: state.description }}
        onChange={(next) => {
          setTypedName(true)
          onChange(next)
        }}
        hint="Lowercase letters, digits, spaces, and . _ -"
        failure={failure}
      />
      <RolePicker
        label="Role (optional)"
        hint={
          missing === undefined
            ? `In ${folder.name} and everything below. registry.push permits pushing images; registry.pull permits pulling.`
            : `You cannot grant roles here. ${missing}`
        }
        organization={organization}
        value={role}
        onChange={(uid) => onChange({ role: uid })}
        problem={violationOf(failure, 'roleUid')}
      />
      <div className="actions">
        <Button className="button quiet" isDisabled={isWorking} onPress={() => goTo('details')}>
          Back
        </Button>
        <Button type="submit" className="button" isDisabled={isWorking || name === ''}>
          {isWorking || isWaiting
            ? 'Working…'
            : created === undefined
              ? 'Create the identity'
              : 'Create another identity'}
        </Button>
      </div>
      {!isPending && (
        <Equivalent
          command={commandOf({ ...state, name }, path, roles.find(({ uid }) => uid === role)?.name ?? '')}
        />
      )}
    </Form>
  )
}

const trustOf = (rule: object) => describeTrust(rule as Identity).words.join(', ')
