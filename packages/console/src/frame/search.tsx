import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Search as SearchIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import {
  Autocomplete,
  Button,
  Dialog,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Modal,
  ModalOverlay,
  SearchField,
} from 'react-aria-components'
import { api } from '../api/client.ts'
import { messageOf } from '../api/query-client.ts'

/** Finds folders and repositories by their whole name or uid, as the API does. */

const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/
const RESULTS_MAX = 20
const PAUSE_MS = 200

interface Found {
  readonly id: string
  readonly uid: string
  readonly kind: 'Folder' | 'Repository'
  readonly name: string
}

async function find(text: string, signal: AbortSignal): Promise<Found[]> {
  const filter = UID.test(text) ? { uidp: { ids: [text] } } : { name: text.toLowerCase() }
  const request = { ...filter, pageSize: RESULTS_MAX }
  const [folders, repos] = await Promise.all([
    api.groups.list(request, { signal }),
    api.repos.list(request, { signal }),
  ])
  return [
    ...folders.groups.map(({ uid, name }) => ({ id: uid, uid, name, kind: 'Folder' as const })),
    ...repos.repos.map(({ uid, name }) => ({ id: uid, uid, name, kind: 'Repository' as const })),
  ]
}

export function Search() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <Button className="search-button" aria-keyshortcuts="Control+K" onPress={() => setOpen(true)}>
        <SearchIcon aria-hidden size={16} />
        <span>Search</span>
        <kbd aria-hidden>Ctrl K</kbd>
      </Button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}

function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const query = useLate(text.trim())
  const {
    data = [],
    error,
    isFetching,
  } = useQuery({
    queryKey: ['search', query],
    queryFn: ({ signal }) => find(query, signal),
    enabled: query !== '',
  })
  const open = (id: string) => {
    const found = data.find((one) => one.id === id)
    if (found === undefined) return
    onClose()
    void navigate({ to: found.kind === 'Folder' ? '/folders/$' : '/repos/$', params: { _splat: found.uid } })
  }
  const isDone = query !== '' && query === text.trim() && !isFetching
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(next) => next || onClose()} isDismissable>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            Search
          </Heading>
          <Autocomplete inputValue={text} onInputChange={setText}>
            <SearchField className="field" autoFocus>
              <Label>Name or uid of a folder or repository</Label>
              <Input placeholder="The whole name, such as nginx" />
            </SearchField>
            <ListBox<Found>
              aria-label="Found"
              className="choices results"
              items={data}
              onAction={(id) => open(String(id))}
            >
              {({ id, name, kind, uid }) => (
                <ListBoxItem id={id} textValue={name} className="choice-item">
                  <span>{name}</span>{' '}
                  <span className="hint">
                    {kind} {uid}
                  </span>
                </ListBoxItem>
              )}
            </ListBox>
          </Autocomplete>
          <p className="muted" role="status">
            {error !== null && messageOf(error)}
            {error === null && isDone && data.length === 0 && 'Nothing has this name or uid.'}
            {error === null && !isDone && text.trim() !== '' && 'Searching…'}
          </p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

/** Returns a value once it has not changed for a moment. */
function useLate(value: string): string {
  const [late, setLate] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return late
}
