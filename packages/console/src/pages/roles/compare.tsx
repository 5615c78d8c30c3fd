import type { Role } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useAddressState } from '../../address-state.ts'
import { managedRolesQuery } from '../../api/queries/iam/members.ts'
import { Badge } from '../../components/badge.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { SelectField } from '../../components/field.tsx'
import { plural } from '../../components/quantity.tsx'
import { type ComparedGroup, compareCapabilities, knownOf } from './capability-groups.ts'
import { CapabilityItems, CapabilityList } from './capability-list.tsx'

const DEFAULT_COMPARED = 'viewer'
/** More differences are folded in their groups, which then fit on a screen. */
const OPEN_DIFFERENCES_MAX = 12

/** What a role adds to another one, and what it lacks. What both have is folded. */
export function CompareRoles({ role }: { readonly role: Role }) {
  const [{ than = '' }, change] = useAddressState()
  const { data: managed = [] } = useQuery(managedRolesQuery)
  const others = managed.filter(({ uid }) => uid !== role.uid)
  const other =
    others.find(({ uid }) => uid === than) ??
    others.find(({ name }) => name === DEFAULT_COMPARED) ??
    others[0]
  if (other === undefined) return null
  const groups = compareCapabilities(role.capabilities, other.capabilities)
  const common = knownOf(role.capabilities.filter((one) => other.capabilities.includes(one)))
  const count = (of: 'added' | 'lacking') => groups.reduce((sum, group) => sum + group[of].length, 0)
  const [added, lacking] = [count('added'), count('lacking')]
  return (
    <div className="compare-roles">
      <SelectField
        label="Compare with"
        choices={others.map(({ uid, name, description }) => ({ id: uid, name, description }))}
        value={other.uid}
        onChange={(uid) => change({ than: uid })}
      />
      <h2>{resultText(other.name, added, lacking)}</h2>
      {groups.map((group) => (
        <Disclosure
          key={`${other.uid} ${group.title}`}
          isOpen={added + lacking <= OPEN_DIFFERENCES_MAX}
          summary={<GroupSummary group={group} />}
        >
          <Side title="Adds" capabilities={group.added} />
          <Side title="Lacks" capabilities={group.lacking} />
        </Disclosure>
      ))}
      {common.length > 0 && (
        <Disclosure
          key={other.uid}
          summary={`Both have ${plural(common.length, 'capability', 'capabilities')}`}
        >
          <CapabilityList capabilities={common} level="h3" />
        </Disclosure>
      )}
    </div>
  )
}

function resultText(other: string, added: number, lacking: number): string {
  const capabilities = (count: number) => plural(count, 'capability', 'capabilities')
  if (added > 0)
    return `Adds ${capabilities(added)} to ${other}${lacking === 0 ? '' : `, and lacks ${capabilities(lacking)}`}`
  return lacking > 0 ? `Lacks ${capabilities(lacking)} of ${other}` : `Has the same capabilities as ${other}`
}

function GroupSummary({ group: { title, added, lacking } }: { readonly group: ComparedGroup }) {
  return (
    <>
      <h3>{title}</h3>
      {added.length > 0 && <Badge tone="good">adds {added.length}</Badge>}
      {lacking.length > 0 && <Badge tone="warn">lacks {lacking.length}</Badge>}
    </>
  )
}

interface SideProps {
  readonly title: string
  readonly capabilities: ComparedGroup['added']
}

function Side({ title, capabilities }: SideProps) {
  if (capabilities.length === 0) return null
  return (
    <div className="compared-side">
      <p className="muted">{title}</p>
      <CapabilityItems capabilities={capabilities} />
    </div>
  )
}
