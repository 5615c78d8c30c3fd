import type { Capability } from '@berth/client'
import { useState } from 'react'
import { CheckboxField, Field } from '../../components/field.tsx'
import { plural } from '../../components/quantity.tsx'
import { groupCapabilities, type KnownCapability, searchCapabilities } from './capability-groups.ts'
import '../../styles/pages/access.css'

/** Capabilities in groups, with what each permits. */
export function CapabilityList({
  capabilities,
  level: Heading = 'h2',
}: {
  readonly capabilities: readonly string[]
  /** Of the headings of the groups. */
  readonly level?: 'h2' | 'h3'
}) {
  const groups = groupCapabilities(capabilities)
  if (groups.length === 0) return <p className="muted">No capabilities.</p>
  return (
    <div className="capabilities">
      {groups.map((group) => (
        <section key={group.title}>
          <Heading>
            {group.title} <span className="muted">{group.capabilities.length}</span>
          </Heading>
          <CapabilityItems capabilities={group.capabilities} />
        </section>
      ))}
    </div>
  )
}

/** What each capability permits, and its name. */
export function CapabilityItems({ capabilities }: { readonly capabilities: readonly KnownCapability[] }) {
  return (
    <ul className="plain-list">
      {capabilities.map(({ wire, name, description }) => (
        <li key={wire}>
          {description}
          <span className="second">{name}</span>
        </li>
      ))}
    </ul>
  )
}

interface CapabilityChoiceProps {
  readonly chosen: ReadonlySet<Capability>
  readonly onChange: (chosen: ReadonlySet<Capability>) => void
  readonly problem: string | undefined
}

/** Chooses capabilities. A search narrows the list and keeps what is chosen. */
export function CapabilityChoice({ chosen, onChange, problem }: CapabilityChoiceProps) {
  const [search, setSearch] = useState('')
  const groups = groupCapabilities(searchCapabilities(search))
  const toggle = (wire: Capability, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(wire)
    else next.delete(wire)
    onChange(next)
  }
  return (
    <fieldset className="capability-choice">
      <legend>
        Capabilities <span className="muted">{plural(chosen.size, 'chosen', 'chosen')}</span>
      </legend>
      <Field label="Search capabilities" value={search} onChange={setSearch} />
      {problem !== undefined && <p className="error">{problem}</p>}
      <section className="capability-options" aria-label="Capabilities to choose">
        {groups.length === 0 && <p className="muted">No capabilities match.</p>}
        {groups.map((group) => (
          <section key={group.title}>
            <h3>{group.title}</h3>
            {group.capabilities.map(({ wire, name, description }) => (
              <CheckboxField
                key={wire}
                isSelected={chosen.has(wire)}
                onChange={(isChosen) => toggle(wire, isChosen)}
              >
                <span>
                  {description} <span className="hint">{name}</span>
                </span>
              </CheckboxField>
            ))}
          </section>
        ))}
      </section>
    </fieldset>
  )
}
