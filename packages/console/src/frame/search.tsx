import { useLocation } from '@tanstack/react-router'
import { Search as SearchIcon } from 'lucide-react'
import { useEffect, useState } from 'react'
import { Button } from 'react-aria-components'
import { lazyPart } from '../components/lazy-part.tsx'
import { recordPlace } from './search-recent.ts'

/** Opens the search: with its button, Ctrl-K, or `/`. */

const SearchDialog = lazyPart(async () => (await import('./search-dialog.tsx')).SearchDialog)

export function Search() {
  const [isOpen, setOpen] = useState(false)
  const { pathname } = useLocation()
  useEffect(() => recordPlace(pathname), [pathname])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!opensSearch(event)) return
      event.preventDefault()
      setOpen(true)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <Button
        className="search-button"
        aria-keyshortcuts="Control+K Meta+K /"
        aria-haspopup="dialog"
        onPress={() => setOpen(true)}
      >
        <SearchIcon aria-hidden size={16} />
        <span>Search</span>
        <kbd aria-hidden>Ctrl K</kbd>
      </Button>
      {isOpen && <SearchDialog onClose={() => setOpen(false)} />}
    </>
  )
}

const TYPING = 'input, textarea, select, [contenteditable="true"], [role="textbox"], [role="combobox"]'

/** `/` is text where the user types, and dialogs and menus have keys of their own. */
function opensSearch(event: KeyboardEvent): boolean {
  const { key, ctrlKey, metaKey, altKey, target } = event
  if (key.toLowerCase() === 'k') return ctrlKey || metaKey
  if (key !== '/' || ctrlKey || metaKey || altKey) return false
  return target instanceof Element && target.closest(`${TYPING}, [role="dialog"], [role="menu"]`) === null
}
