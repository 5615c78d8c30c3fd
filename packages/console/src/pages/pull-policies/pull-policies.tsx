import type { ComponentType } from 'react'
import { useAddressState } from '../../address-state.ts'
import { lazyPart } from '../../components/lazy-part.tsx'
import { Sections } from '../../components/sections.tsx'
import { Bindings } from './bindings.tsx'
import '../../styles/pages/contents.css'

export interface PullPolicyProps {
  /** uid of the folder or repository. */
  readonly uid: string
  /** As the command line has it. */
  readonly path: string
  readonly isRepo: boolean
}

type Section = readonly [id: string, title: string, part: ComponentType<PullPolicyProps>]

const PoliciesSection: Section = [
  'policies',
  'Policies',
  lazyPart(async () => (await import('./policies.tsx')).Policies),
]

const VerifiersSection: Section = [
  'verifiers',
  'Verifiers',
  lazyPart(async () => (await import('./verifiers.tsx')).Verifiers),
]

const sections: readonly Section[] = [
  ['bindings', 'Applied', Bindings],
  PoliciesSection,
  ['overrides', 'Overrides', lazyPart(async () => (await import('./overrides.tsx')).Overrides)],
  ['decisions', 'Decisions', lazyPart(async () => (await import('./decisions.tsx')).Decisions)],
  VerifiersSection,
]

/** What belongs to folders. */
const ofFolders: ReadonlySet<Section> = new Set([PoliciesSection, VerifiersSection])

/** What decides whether images of a folder or repository may be pulled. Policies and verifiers belong to folders. */
export function PullPolicies(props: PullPolicyProps) {
  const [{ section }] = useAddressState()
  const shown = props.isRepo ? sections.filter((one) => !ofFolders.has(one)) : sections
  const [current = '', , Part] = shown.find(([id]) => id === section) ?? shown[0] ?? []
  if (Part === undefined) return null
  return (
    <>
      <Sections label="Policies at pull" tab="pull-policies" sections={shown} current={current} />
      <Part {...props} />
    </>
  )
}
