import { lazyPart } from '../../components/lazy-part.tsx'
import { type Section, Sections } from '../../components/sections.tsx'
import { Bindings } from './bindings.tsx'
import '../../styles/pages/contents.css'

export interface PullPolicyProps {
  /** uid of the folder or repository. */
  readonly uid: string
  /** As the command line has it. */
  readonly path: string
  readonly isRepo: boolean
}

const PoliciesSection: Section<PullPolicyProps> = [
  'policies',
  'Policies',
  lazyPart(async () => (await import('./policies.tsx')).Policies),
]

const VerifiersSection: Section<PullPolicyProps> = [
  'verifiers',
  'Verifiers',
  lazyPart(async () => (await import('./verifiers.tsx')).Verifiers),
]

const sections: readonly Section<PullPolicyProps>[] = [
  ['bindings', 'Applied', Bindings],
  PoliciesSection,
  ['overrides', 'Overrides', lazyPart(async () => (await import('./overrides.tsx')).Overrides)],
  ['decisions', 'Decisions', lazyPart(async () => (await import('./decisions.tsx')).Decisions)],
  VerifiersSection,
]

/** What belongs to folders. */
const ofFolders: ReadonlySet<Section<PullPolicyProps>> = new Set([PoliciesSection, VerifiersSection])

/** What decides whether images of a folder or repository may be pulled. Policies and verifiers belong to folders. */
export function PullPolicies(props: PullPolicyProps) {
  const shown = props.isRepo ? sections.filter((one) => !ofFolders.has(one)) : sections
  return <Sections label="Policies at pull" tab="pull-policies" sections={shown} partProps={props} />
}
