import type { Member } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { candidatesQuery } from '../api/queries/iam/members.ts'
import { messageOf } from '../api/query-client.ts'
import { isUid } from '../uid.ts'
import { useLate } from '../use-late.ts'
import type { Choice } from './field.tsx'
import { ChoiceBox } from './pickers.tsx'

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
  const search = useLate(text.trim(), PAUSE_MS)
  const { data, error, isFetching } = useQuery(candidatesQuery(folder, value === '' ? search : ''))
  return (
    <ChoiceBox
      {...box}
      value={value}
      problem={problem ?? (error === null ? undefined : messageOf(error))}
      items={choicesOf(data?.identities ?? [], text.trim())}
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
      empty={isFetching ? 'Searching…' : 'No one found. Enter a uid, or invite the person.'}
    />
  )
}

function choicesOf(found: readonly Member[], text: string): Choice[] {
  if (isUid(text)) return [{ id: text, name: text, description: 'identity with this uid' }]
  return found.map(({ uid, name, email, kind }) => ({
    id: uid,
    name: name || email || uid,
    description: email || (kind === 'MEMBER_KIND_WORKLOAD' ? 'workload' : uid),
  }))
}
