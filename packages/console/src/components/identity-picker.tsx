import type { Member } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { candidatesQuery } from '../api/queries/iam/members.ts'
import { messageOf } from '../api/query-client.ts'
import { isUid } from '../uid.ts'
import { useLate } from '../use-late.ts'
import type { Choice } from './field.tsx'
import { ChoiceBox, narrowed } from './pickers.tsx'

const PAUSE_MS = 200

interface IdentityPickerProps {
  readonly label: string
  /** The folder in which the identity receives a role, or is looked at. */
  readonly folder: string
  /** uid; '' if nothing is chosen. */
  readonly value: string
  readonly onChange: (uid: string) => void
  /** Name of the identity of `value`, if the page knows it. */
  readonly name?: string | undefined
  readonly hint?: string
  readonly problem?: string | undefined
}

/** An identity of the organization, found by a part of its name or email address, or any identity by its uid. */
export function IdentityPicker(props: IdentityPickerProps) {
  const { folder, value, onChange, name, problem, ...box } = props
  const [text, setText] = useState(name ?? value)
  useEffect(() => {
    if (value !== '' && name !== undefined) setText(name)
  }, [value, name])
  const typed = value === '' ? text.trim() : ''
  const late = useLate(typed, PAUSE_MS)
  const { data, error, isPlaceholderData } = useQuery(candidatesQuery(folder, late))
  const isCurrent = late === typed && data !== undefined && !isPlaceholderData
  const found = choicesOf(data?.identities ?? [], text.trim())
  return (
    <ChoiceBox
      {...box}
      value={value}
      problem={problem ?? (error === null ? undefined : messageOf(error))}
      // Until the server responds, the list is of what was typed before.
      items={isCurrent ? found : narrowed(found, typed)}
      text={text}
      onText={(next) => {
        setText(next)
        if (value !== '' && next !== text) onChange('')
      }}
      onChoose={(choice) => {
        setText(choice.name)
        onChange(choice.id)
      }}
      placeholder="Name or email address"
      empty={emptyText()}
    />
  )

  function emptyText(): string {
    if (error !== null) return 'The search failed'
    return isCurrent ? 'No one found. Enter a uid, or invite the person.' : 'Searching…'
  }
}

function choicesOf(found: readonly Member[], text: string): Choice[] {
  if (isUid(text)) return [{ id: text, name: text, description: 'identity with this uid' }]
  return found.map(({ uid, name, email, kind }) => ({
    id: uid,
    name: name || email || uid,
    description: email || (kind === 'MEMBER_KIND_WORKLOAD' ? 'workload' : uid),
  }))
}
