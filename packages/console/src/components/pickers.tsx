import { type DefaultError, type QueryKey, type UseQueryOptions, useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import {
  Button,
  ComboBox,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Text,
} from 'react-aria-components'
import {
  actorChoices,
  CHOICE_CHARS_MIN,
  choiceOf,
  folderChoices,
  OPERATOR,
  organizationChoices,
  repoChoices,
  roleChoices,
  userChoices,
} from '../api/queries/choices.ts'
import { resourcesQuery } from '../api/queries/resources.ts'
import { messageOf } from '../api/query-client.ts'
import { useLate } from '../use-late.ts'
import type { Choice } from './field.tsx'

/** Fields that choose a resource by its name: typing narrows the list. */

const PAUSE_MS = 200
/** From the end of a touch until its click. */
const CLICK_MS = 300

interface PickerProps {
  readonly label: string
  /** uid; '' if nothing is chosen. */
  readonly value: string
  readonly onChange: (uid: string) => void
  readonly hint?: string
  readonly problem?: string | undefined
}

interface ChoiceBoxProps extends Omit<PickerProps, 'onChange'> {
  readonly items: readonly Choice[]
  readonly text: string
  readonly onText: (text: string) => void
  readonly onChoose: (choice: Choice) => void
  readonly placeholder: string
  /** Shown in place of the list. */
  readonly empty: string
  /** Shown below the list. */
  readonly note?: ReactNode
}

/** What all pickers look like. */
export function ChoiceBox(props: ChoiceBoxProps) {
  const { label, value, hint, problem, text, onText, onChoose, placeholder, empty, note } = props
  const { items, hold } = useHeld(props.items)
  return (
    <ComboBox
      className="field"
      items={items}
      inputValue={text}
      onInputChange={onText}
      selectedKey={value === '' ? null : value}
      onSelectionChange={(id) => {
        const choice = items.find((item) => item.id === id)
        if (choice !== undefined) onChoose(choice)
      }}
      isInvalid={problem !== undefined}
      allowsEmptyCollection
      menuTrigger="focus"
    >
      <Label>{label}</Label>
      <div className="combobox">
        <Input placeholder={placeholder} />
        <Button className="icon-button">
          <ChevronDown aria-hidden size={16} />
        </Button>
      </div>
      {hint && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="error">{problem}</FieldError>
      <Popover className="popover">
        <ListBox<Choice>
          className="choices"
          onPointerDownCapture={hold}
          renderEmptyState={() => <p className="muted choice-item">{empty}</p>}
        >
          {({ id, name, description }) => (
            <ListBoxItem id={id} textValue={name} className="choice-item">
              <span>{name}</span>
              {description && <span className="hint">{description}</span>}
            </ListBoxItem>
          )}
        </ListBox>
        {note}
      </Popover>
    </ComboBox>
  )
}

/**
 * Returns items that do not change while one of them is pressed: what the server finds then would put another one under the pointer.
 * `hold` is called when the press starts.
 */
function useHeld<T>(items: readonly T[]): { readonly items: readonly T[]; readonly hold: () => void } {
  const [held, setHeld] = useState<readonly T[]>()
  useEffect(() => {
    if (held === undefined) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const release = () => {
      timer = setTimeout(() => setHeld(undefined), CLICK_MS)
    }
    const ends = ['pointerup', 'pointercancel'] as const
    for (const end of ends) window.addEventListener(end, release)
    return () => {
      clearTimeout(timer)
      for (const end of ends) window.removeEventListener(end, release)
    }
  }, [held])
  return { items: held ?? items, hold: () => setHeld(items) }
}

interface ChoicePickerProps<T, K extends QueryKey> extends PickerProps {
  readonly query: UseQueryOptions<T, DefaultError, readonly Choice[], K>
}

/** A combobox over choices that the page has all of. */
export function ChoicePicker<T, K extends QueryKey>(props: ChoicePickerProps<T, K>) {
  const { query, onChange, ...box } = props
  const { data: choices = [], isPending } = useQuery(query)
  const chosen = choices.find(({ id }) => id === props.value)?.name ?? ''
  const { text, setText, onText } = usePickerText(props.value, chosen, onChange)
  return (
    <ChoiceBox
      {...box}
      items={text === chosen ? choices : narrowed(choices, text)}
      text={text}
      onText={onText}
      onChoose={({ id, name }) => {
        // Immediately: a text that changes later opens the list again.
        setText(name)
        onChange(id)
      }}
      placeholder={isPending ? 'Loading…' : 'Type to search'}
      empty="Nothing found"
    />
  )
}

/** Returns the choices that match a text, in the order of the server: first what is called this, then what starts with it. */
export function narrowed(choices: readonly Choice[], text: string): readonly Choice[] {
  const sought = text.trim().toLowerCase()
  if (sought === '') return choices
  const rank = ({ name, description = '' }: Choice) => {
    const texts = [name.toLowerCase(), description.toLowerCase()]
    if (texts.includes(sought)) return 0
    return texts.some((one) => one.startsWith(sought)) ? 1 : 2
  }
  return choices
    .filter(({ name, description = '' }) => `${name} ${description}`.toLowerCase().includes(sought))
    .toSorted((a, b) => rank(a) - rank(b))
}

/** Returns the text of a picker: the name of what is chosen, or what is typed. */
function usePickerText(value: string, chosen: string, onChange: (uid: string) => void) {
  const [text, setText] = useState(chosen)
  useEffect(() => {
    if (chosen !== '') setText(chosen)
  }, [chosen])
  // Another value than the last one from here, for example after "Remove all filters".
  const own = useRef(value)
  useEffect(() => {
    if (value === '' && own.current !== '') setText('')
    own.current = value
  }, [value])
  const onText = (next: string) => {
    if (next === text) return
    setText(next)
    // What is in the field is what is chosen. Without a choice, too: what is proposed later must not replace what the user types.
    own.current = ''
    onChange('')
  }
  return { text, setText, onText }
}

interface SearchPickerProps extends PickerProps {
  /** `text`: what to find; '' for the first choices. */
  readonly query: (
    text: string,
  ) => ReturnType<typeof folderChoices | typeof repoChoices | typeof actorChoices | OperatorChoices>
  /** The chosen one, for choices that search by uid does not find. */
  readonly named?: Choice | undefined
}

/** A combobox over choices that the server finds. */
function SearchPicker({ query, named: given, onChange, value, problem, ...box }: SearchPickerProps) {
  const [picked, setPicked] = useState<Choice>()
  const named = resourcesQuery([value])
  const { data: names, isPlaceholderData } = useQuery({
    ...named,
    enabled: named.enabled !== false && picked?.id !== value,
  })
  const known = picked?.id === value ? picked : (given ?? (value === '' ? undefined : choiceOfValue()))
  const chosen = known?.name ?? ''
  const { text, setText, onText } = usePickerText(value, chosen, onChange)
  const typed = text === chosen ? '' : text.trim()
  const late = useLate(typed, PAUSE_MS)
  const { data, error, isFetching } = useQuery(query(late.length < CHOICE_CHARS_MIN ? '' : late))
  const isCurrent = late === typed && !isFetching
  const choices = data?.choices ?? []
  // The first choices are narrowed here: while the server searches, and by one character.
  const isNarrowed = !isCurrent || typed.length < CHOICE_CHARS_MIN
  const shown = isNarrowed ? narrowed(choices, typed) : choices
  const items = typed === '' && known && !shown.some(({ id }) => id === value) ? [known, ...shown] : shown
  return (
    <ChoiceBox
      {...box}
      value={value}
      problem={problem ?? (error === null ? undefined : messageOf(error))}
      items={items}
      text={text}
      onText={onText}
      onChoose={(choice) => {
        setPicked(choice)
        setText(choice.name)
        onChange(choice.id)
      }}
      placeholder={data === undefined ? 'Loading…' : 'Type to search'}
      empty={emptyText()}
      note={
        data?.hasMore === true &&
        items.length > 0 && <p className="muted choice-item">There are more: type more of the name.</p>
      }
    />
  )

  /** What does not exist any more, or is not visible, has its uid. */
  function choiceOfValue(): Choice | undefined {
    const resource = names?.get(value)
    if (resource !== undefined) return choiceOf(resource)
    return names === undefined || isPlaceholderData ? undefined : { id: value, name: value }
  }

  function emptyText(): string {
    if (!isCurrent) return 'Searching…'
    return typed.length === 1 && data?.hasMore === true ? 'Type at least 2 characters' : 'Nothing found'
  }
}

/** A folder of an organization, by its path; of any organization for ''. */
export function FolderPicker({ organization, ...props }: PickerProps & { readonly organization: string }) {
  return <SearchPicker {...props} query={(text) => folderChoices(organization, text)} />
}

/** A role that can be granted in an organization. */
export function RolePicker({ organization, ...props }: PickerProps & { readonly organization: string }) {
  return <SearchPicker {...props} query={(text) => roleChoices(organization, text)} />
}

/** A repository of any organization, by its path. */
export function RepoPicker(props: PickerProps) {
  return <SearchPicker {...props} query={repoChoices} />
}

/** Who did something: a person, a workload or the operator. */
export function ActorPicker(props: PickerProps) {
  return (
    <SearchPicker
      {...props}
      query={actorChoices}
      named={props.value === OPERATOR.id ? OPERATOR : undefined}
    />
  )
}

type OperatorChoices = typeof organizationChoices | typeof userChoices

/** Returns what has a uid, for operators, once it is known. */
export function useOperatorChoice(query: OperatorChoices, uid: string): Choice | undefined {
  const { data } = useQuery({ ...query(uid), enabled: uid !== '' })
  return data?.choices.find(({ id }) => id === uid)
}

/** An organization of the installation, for operators, who may have no role in it. */
export function OrganizationPicker(props: PickerProps) {
  const named = useOperatorChoice(organizationChoices, props.value)
  return <SearchPicker {...props} query={organizationChoices} named={named} />
}

/** A user of the installation, for operators, by a part of the name or of the email address. */
export function UserPicker(props: PickerProps) {
  const named = useOperatorChoice(userChoices, props.value)
  return <SearchPicker {...props} query={userChoices} named={named} />
}
