import type { Identity } from '@berth/client'
import { createIdentityWithRoles } from '@berth/workloads/creation.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button, Form } from 'react-aria-components'
import { useAccess } from '../../api/access.ts'
import { refreshAccess } from '../../api/access-changes.ts'
import { api } from '../../api/client.ts'
import { organizationOf } from '../../api/queries/groups.ts'
import { rolesQuery } from '../../api/queries/iam/access.ts'
import { violationOf } from '../../api/query-client.ts'
import { usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Failure } from '../../components/failure.tsx'
import { reportLateFailure } from '../../components/late-failures.ts'
import { NameFields } from '../../components/name-fields.tsx'
import { RolePicker } from '../../components/pickers.tsx'
import { useIsShown } from '../../use-is-shown.ts'
import { useLeave } from '../../use-page.ts'
import { useSendWhenLoaded } from '../../use-send-when-loaded.ts'
import type { StepProps } from './create-identity.tsx'
import { commandOf, proposedName, ruleOf } from './wizard.ts'

/** What each platform does most often. */
const PUSH_ROLE = 'registry.push'
const PULL_ROLE = 'registry.pull'

/** The last step: the name and the role, and the creation of both or neither. */
export function RoleStep({ folder, state, onChange, goTo }: StepProps) {
  const leave = useLeave()
  const isShown = useIsShown()
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
  const [isWorking, setWorking] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const read = ruleOf(state)
  const create = async () => {
    if (isWorking || name === '') return
    if ('problems' in read) return goTo('details')
    if (unread !== null && state.role === undefined && missing === undefined) return setFailure(unread)
    setWorking(true)
    setFailure(null)
    try {
      const input = { name, description: state.description, ...read.rule }
      const { uid } = await createIdentityWithRoles(api, folder.uid, input, role === '' ? [] : [role])
      await refreshAccess()
      // "Back" does not return to a form that would create it again.
      await leave({
        to: '/identities/$',
        params: { _splat: uid },
        search: { tab: 'workflow', created: 'yes' },
        replace: true,
      })
    } catch (error) {
      if (!isShown.current) return reportLateFailure('Create the identity', error)
      setFailure(error)
      setWorking(false)
    }
  }
  const { send, isWaiting } = useSendWhenLoaded(isPending, () => void create())
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
          {isWorking || isWaiting ? 'Working…' : 'Create the identity'}
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
