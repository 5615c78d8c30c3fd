import type { Resource, ResourceKind } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useParams, useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import {
  Autocomplete,
  Dialog,
  Header,
  Heading,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  ListBoxSection,
  Modal,
  ModalOverlay,
  SearchField,
} from 'react-aria-components'
import { useAccess } from '../api/access.ts'
import { organizationOf } from '../api/queries/groups.ts'
import { resourcesQuery, searchQuery } from '../api/queries/resources.ts'
import { messageOf } from '../api/query-client.ts'
import { addressOf, kindNames } from '../components/resource-link.tsx'
import { uidIn } from '../uid.ts'
import { useLate } from '../use-late.ts'
import { useSendWhenLoaded } from '../use-send-when-loaded.ts'
import '../styles/pages/search.css'
import { pageEntries, type SearchEntry, type SearchSection, searchActions } from './search-entries.ts'
import { recentPlaces } from './search-recent.ts'

const PAUSE_MS = 150

/** Finds resources and pages. All of it works with the keyboard; Escape returns to the page. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const router = useRouter()
  const [text, setText] = useState('')
  const typed = text.trim()
  const { sections, status, isCurrent } = useSections(typed)
  const entries = sections.flatMap((section) => section.entries)
  const open = (id: string | undefined) => {
    const entry = entries.find((one) => one.id === id)
    if (entry === undefined) return
    onClose()
    router.history.push(`/console${entry.address}`)
  }
  // Until the server responds, the first result is of what was typed before.
  const { send } = useSendWhenLoaded(!isCurrent, () => open(entries[0]?.id), typed)
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={(next) => next || onClose()} isDismissable>
      <Modal className="modal search-modal">
        <Dialog className="dialog search-dialog">
          <Heading slot="title" level={2} className="unseen">
            Search
          </Heading>
          <Autocomplete inputValue={text} onInputChange={setText} disableAutoFocusFirst>
            <SearchField
              className="field"
              autoFocus
              // Escape clears the field before it closes the dialog, unless it is handled here.
              onKeyDown={(event) => event.key === 'Escape' && onClose()}
              onSubmit={send}
            >
              <Label>Search by name, tag, digest, CVE ID or uid</Label>
              <Input placeholder="web, web:1.2, sha256:4f53cda, CVE-2025-12345" />
            </SearchField>
            <ListBox<SearchSection>
              aria-label="Results"
              className="choices results"
              items={sections}
              onAction={(id) => open(String(id))}
            >
              {({ id, title, entries: own }) => (
                <ListBoxSection id={id} className="search-section">
                  <Header className="search-section-title">{title}</Header>
                  {own.map((entry) => (
                    <SearchItem key={entry.id} entry={entry} />
                  ))}
                </ListBoxSection>
              )}
            </ListBox>
          </Autocomplete>
          <p className="muted search-status" role="status">
            {status}
          </p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function SearchItem({ entry: { id, title, detail } }: { readonly entry: SearchEntry }) {
  return (
    <ListBoxItem id={id} textValue={title} className="choice-item search-item">
      <span>{title}</span>
      {detail !== '' && <span className="hint">{detail}</span>}
    </ListBoxItem>
  )
}

interface Found {
  readonly sections: SearchSection[]
  readonly status: string
  /** The results are those of the text. */
  readonly isCurrent: boolean
}

/** What is shown for a text: resources by kind, pages, and further actions. */
function useSections(typed: string): Found {
  const access = useAccess()
  const { _splat: path = '' } = useParams({ strict: false })
  const organization = organizationOf(uidIn(path))
  const late = useLate(typed, PAUSE_MS)
  const { data, error, isFetching, isPending, isPlaceholderData } = useQuery(searchQuery(late))
  const [recent] = useState(recentPlaces)
  const { data: places } = useQuery({ ...resourcesQuery(recent), enabled: typed === '' && recent.length > 0 })
  const pages = pageEntries(typed, { organization, isOperator: access.holds('', 'operator.get') })
  const pageSection = section('pages', 'Pages', pages)
  if (typed === '') {
    const known = recent.flatMap((uid) => places?.get(uid) ?? [])
    const sections = [...section('recent', 'Recent', known.map(toEntry)), ...pageSection]
    return { sections, status: '', isCurrent: true }
  }
  const resources = typed.length > 1 && late !== '' ? (data?.resources ?? []) : []
  const incomplete = data?.incompleteKinds ?? []
  const found = kindsIn(resources).flatMap((kind) => {
    const own = resources.filter((resource) => resource.kind === kind)
    const more = incomplete.includes(kind) ? ` (first ${own.length})` : ''
    return section(kind, `${kindNames[kind].many}${more}`, own.map(toEntry))
  })
  return {
    sections: [...found, ...pageSection, ...section('actions', 'Actions', searchActions(typed, resources))],
    status: statusOf(),
    isCurrent: typed.length === 1 || (late === typed && !isPending && !isPlaceholderData),
  }

  function statusOf(): string {
    if (typed.length === 1) return 'Type at least 2 characters.'
    if (error !== null) return messageOf(error)
    if (late !== typed || isFetching) return 'Searching…'
    if (resources.length === 0) return 'Nothing found that you can see.'
    return `${resources.length} found${incomplete.length > 0 ? '. There are more: type more of the name.' : ''}`
  }
}

const section = (id: string, title: string, entries: readonly SearchEntry[]): SearchSection[] =>
  entries.length === 0 ? [] : [{ id, title, entries }]

/** The kind with the best match first. */
const kindsIn = (resources: readonly Resource[]): ResourceKind[] => [
  ...new Set(resources.map(({ kind }) => kind)),
]

function toEntry(resource: Resource): SearchEntry {
  const { kind, uid, name, path, detail, digest } = resource
  const isPlaced = kind === 'RESOURCE_KIND_USER' || kind === 'RESOURCE_KIND_ADVISORY'
  const title = isPlaced || path === '' ? name : path
  const details = isPlaced ? [detail === name ? '' : detail, path.replace(/\/[^/]*$/, '')] : [detail]
  return {
    id: `${kind} ${uid} ${digest}`,
    title,
    detail: details.filter((text) => text !== '').join(' · '),
    address: addressOf(resource),
  }
}
