import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ComboBox, Input, Label, ListBox, ListBoxItem, Popover } from 'react-aria-components'
import { useAddressState } from '../../address-state.ts'
import { api } from '../../api/client.ts'
import { resourcesQuery } from '../../api/queries/resources.ts'
import { useLate } from '../../use-late.ts'
import { actorName } from './audit-words.ts'

/** Chooses a user or workload by name. Its uid is in the address. */

const PAUSE_MS = 200
const CHOICES_MAX = 20
const SYSTEM = { id: 'system', name: 'The operator', detail: 'commands on the server' }

interface ActorChoice {
  readonly id: string
  readonly name: string
  readonly detail: string
}

export function ActorFilter() {
  const [{ actor: applied = '' }, change] = useAddressState()
  // The address follows a choice a moment later, and until then the field would open its list again.
  const [actor, setActor] = useState(applied)
  const [choice, setChoice] = useState<ActorChoice | undefined>()
  useEffect(() => setActor(applied), [applied])
  const { data: names } = useQuery({
    ...resourcesQuery([actor]),
    enabled: actor !== '' && actor !== SYSTEM.id && choice?.id !== actor,
  })
  const known = choice?.id === actor ? choice.name : actorName(actor, names ?? new Map())
  const chosen = actor === '' ? '' : known
  const [text, setText] = useState(chosen)
  useEffect(() => setText(chosen), [chosen])
  const found = useActors(text === chosen ? '' : text.trim())
  const choices = text === chosen && actor !== '' ? [{ id: actor, name: chosen, detail: '' }] : found
  const choose = (id: string) => {
    const next = choices.find((one) => one.id === id)
    setChoice(next)
    setActor(id)
    setText(next?.name ?? '')
    change({ actor: id })
  }
  return (
    <ComboBox
      className="field filter"
      items={choices}
      inputValue={text}
      onInputChange={(next) => {
        setText(next)
        if (next === '' && actor !== '') choose('')
      }}
      selectedKey={actor === '' ? null : actor}
      onSelectionChange={(id) => id !== null && choose(String(id))}
      allowsCustomValue
      allowsEmptyCollection
      menuTrigger="input"
    >
      <Label>Who</Label>
      <Input placeholder="Name or email" />
      <Popover className="popover">
        <ListBox<ActorChoice>
          className="choices"
          renderEmptyState={() => (
            <p className="muted choice-item">
              {text.trim().length < 2 ? 'Type at least 2 characters' : 'No one found that you can see'}
            </p>
          )}
        >
          {({ id, name, detail }) => (
            <ListBoxItem id={id} textValue={name} className="choice-item">
              <span>{name}</span>
              {detail !== '' && <span className="hint">{detail}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </ComboBox>
  )
}

function useActors(text: string): readonly ActorChoice[] {
  const late = useLate(text, PAUSE_MS)
  const { data } = useQuery({
    queryKey: ['actors', late],
    queryFn: ({ signal }) =>
      api.search.searchResources(
        { text: late, kinds: ['RESOURCE_KIND_USER', 'RESOURCE_KIND_IDENTITY'], maxResults: CHOICES_MAX },
        { signal },
      ),
    enabled: late.length > 1,
    refetchInterval: false,
  })
  const found = (data?.resources ?? []).map(({ uid, name, detail, path, kind }) => ({
    id: uid,
    name,
    detail: kind === 'RESOURCE_KIND_USER' ? detail : path,
  }))
  const isSystem = text !== '' && SYSTEM.name.toLowerCase().includes(text.toLowerCase())
  return isSystem ? [SYSTEM, ...found] : found
}
