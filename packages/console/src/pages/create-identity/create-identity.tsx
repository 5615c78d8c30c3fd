import type { Group } from '@berth/client'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { folderQuery } from '../../api/queries/groups.ts'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Title } from '../../components/title.tsx'
import { DetailsStep } from './details-step.tsx'
import { PlatformStep } from './platform-step.tsx'
import { RoleStep } from './role-step.tsx'
import { readState, type Step, steps, type WizardState, writeState } from './wizard.ts'
import '../../styles/pages/identities.css'

/** Creates an identity for a workload in three steps. */
export function CreateIdentityPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="folder" query={folderQuery(uid)}>
      {(folder) => <Wizard key={uid} folder={folder.value} />}
    </ResourcePage>
  )
}

const PAUSE_MS = 300
/** In the place of the uid that the identity does not have yet. */
const NEW = '0'.repeat(16)

const stepTitles: Readonly<Record<Step, string>> = {
  platform: 'Platform',
  details: 'Workload',
  role: 'Name and role',
}

export interface StepProps {
  readonly folder: Group
  readonly state: WizardState
  readonly onChange: (change: Partial<WizardState>) => void
  /** Opens another step, as a new entry of the history. */
  readonly goTo: (step: Step) => void
}

function Wizard({ folder }: { readonly folder: Group }) {
  const [address, change] = useAddressState()
  const navigate = useNavigate()
  // What was typed is here and in the address, so that a reload keeps it and typing does not wait for the address. Until something is typed, the
  // address has the state: the next entry of the history can have more than this one.
  const [typed, setTyped] = useState<WizardState>()
  const state = typed ?? readState(address)
  const asked = steps.find((name) => name === address['step']) ?? 'platform'
  const step = state.platform === undefined ? 'platform' : asked
  const missing = useAccess().missing(folder.uid, 'identity.create')
  useEffect(() => {
    if (typed === undefined) return
    const next = writeState(typed, address)
    if (Object.entries(next).every(([key, value]) => (address[key] ?? '') === value)) return
    const timer = setTimeout(() => change(next), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed, address, change])
  const goTo = (to: Step) =>
    void navigate({
      to: '.',
      search: (before) => withoutEmpty({ ...before, ...writeState(state, before), step: to }),
    })
  const heading = useRef<HTMLHeadingElement>(null)
  const shown = useRef(step)
  useEffect(() => {
    if (shown.current !== step) heading.current?.focus()
    shown.current = step
  }, [step])
  const props: StepProps = {
    folder,
    state,
    onChange: (part) => setTyped((before) => ({ ...(before ?? state), ...part })),
    goTo,
  }
  return (
    <>
      <Breadcrumbs uid={`${folder.uid}/${NEW}`} name="Create an identity" />
      <Title text="Create an identity" />
      {missing !== undefined ? (
        <NoPermission label="The form" reason={missing} />
      ) : (
        <>
          <ol className="wizard-steps" aria-label="Steps">
            {steps.map((name, at) => (
              <li key={name} {...(name === step && { 'aria-current': 'step' as const })}>
                {at + 1}. {stepTitles[name]}
              </li>
            ))}
          </ol>
          <h2 ref={heading} tabIndex={-1} className="unseen">
            {stepTitles[step]}
          </h2>
          {step === 'platform' && <PlatformStep {...props} />}
          {step === 'details' && <DetailsStep {...props} />}
          {step === 'role' && <RoleStep {...props} />}
        </>
      )}
    </>
  )
}

function withoutEmpty(state: Readonly<Record<string, string | undefined>>) {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== undefined && value !== ''))
}
