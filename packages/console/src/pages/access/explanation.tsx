import type { AccessSource, ExplainAccessResponse, ExplainAccessResponseNote } from '@berth/client'
import { Link } from '@tanstack/react-router'
import { CircleCheck, CircleHelp, CircleX } from 'lucide-react'
import type { ReactNode } from 'react'
import { Badge } from '../../components/badge.tsx'
import { permits } from '../roles/capability-groups.ts'
import { memberName, Source } from './members.tsx'

interface ExplanationProps {
  readonly explanation: ExplainAccessResponse
  readonly capability: string
  /** Name of the folder or repository. */
  readonly place: string
}

/** Why an identity can or cannot do something, as a sentence and the chain of roles. */
export function Explanation({ explanation, capability, place }: ExplanationProps) {
  const { outcome, identity, roles, signIns, notes, suggestedRoles, capabilities } = explanation
  const name = identity === undefined ? '' : memberName(identity)
  const isBySetting = capabilities.some(({ held, roles: by }) => held && by.length === 0)
  return (
    <>
      <Sentence outcome={outcome}>
        <bdi>{name}</bdi> {verbs[outcome]} {permits(capability)} in <bdi>{place}</bdi>.
      </Sentence>
      {isBySetting && <p>Owners have this capability by a setting of the server.</p>}
      {roles.length > 0 && (
        <ol className="chain" aria-label="Roles that apply here">
          {roles.map(({ role, sources, sufficient }) => (
            <li key={role?.uid}>
              <Badge tone={sufficient ? 'good' : 'plain'}>
                {sufficient ? 'permits it' : 'does not permit it'}
              </Badge>{' '}
              Role{' '}
              <Link to="/roles/$" params={{ _splat: role?.uid ?? '' }}>
                <bdi>{role?.name || role?.uid}</bdi>
              </Link>
              ,{' '}
              {sources.map((source, at) => (
                <span key={keyOf(source)}>
                  {at > 0 && ', and '}
                  {source.kind === 'KIND_GROUP_MAPPING' ? 'by the ' : 'granted '}
                  {source.kind === 'KIND_INHERITED' && 'in '}
                  <Source source={source} />
                </span>
              ))}
            </li>
          ))}
        </ol>
      )}
      {roles.length === 0 && outcome === 'OUTCOME_DENIED' && <p>No role of theirs applies here.</p>}
      {notes.map((note) => noteTexts[note] !== '' && <p key={note}>{noteTexts[note]}</p>)}
      {suggestedRoles.length > 0 && outcome !== 'OUTCOME_ALLOWED' && (
        <p>
          The managed {suggestedRoles.length === 1 ? 'role' : 'roles'} {suggestedRoles.join(' or ')} would
          permit it.
        </p>
      )}
      {signIns.length > 0 && (
        <>
          <h2>Signed in through an identity provider</h2>
          <ul className="plain-list">
            {signIns.map(({ identityProvider, allowed }) => (
              <li key={identityProvider?.uid}>
                <Badge tone={allowed ? 'good' : 'plain'}>{allowed ? 'can' : 'cannot'}</Badge>{' '}
                <bdi>{identityProvider?.name || 'a deleted provider'}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}

const keyOf = ({ roleBinding, externalGroup, identityProvider }: AccessSource) =>
  `${roleBinding} ${externalGroup} ${identityProvider?.uid ?? ''}`

type Outcome = ExplainAccessResponse['outcome']

const verbs: Readonly<Record<Outcome, string>> = {
  OUTCOME_UNSPECIFIED: 'may or may not be able to',
  OUTCOME_ALLOWED: 'can',
  OUTCOME_DENIED: 'cannot',
  OUTCOME_UNKNOWN: 'may be able to',
}

function Sentence({ outcome, children }: { readonly outcome: Outcome; readonly children: ReactNode }) {
  const Icon =
    outcome === 'OUTCOME_ALLOWED' ? CircleCheck : outcome === 'OUTCOME_DENIED' ? CircleX : CircleHelp
  return (
    <p className={`sentence ${outcome === 'OUTCOME_ALLOWED' ? 'good' : ''}`}>
      <Icon aria-hidden size={20} /> <span>{children}</span>
    </p>
  )
}

const noteTexts: Readonly<Record<ExplainAccessResponseNote, string>> = {
  NOTE_UNSPECIFIED: '',
  NOTE_ORGANIZATION_SUSPENDED: 'The operator has suspended this organization: no role in it applies.',
  NOTE_OPERATOR_ONLY: 'Only the operator of the server can grant this capability.',
  NOTE_ANCESTORS_HIDDEN: 'You cannot read the roles in all folders above, which may permit it, too.',
  NOTE_NO_CAPABILITY_REQUIRED: 'It requires no capability.',
}
