import type { KeyboardEvent } from 'react'

/**
 * Keys in a tree. Up and down, Home and End move between the items that are shown; right moves into an open folder, left out of a folder
 * that is closed; a letter moves to the next item that starts with it. Items open and close themselves.
 */
export function moveInTree(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget: tree, altKey, ctrlKey, metaKey } = event
  if (!(target instanceof HTMLElement) || altKey || ctrlKey || metaKey) return
  const items = [...tree.querySelectorAll<HTMLElement>('[role="treeitem"]')]
  const at = items.indexOf(target)
  if (at < 0) return
  const next = nextItem(key, items, at)
  // The page must not scroll instead.
  if (next === undefined && !/^(Arrow|Home|End)/.test(key)) return
  event.preventDefault()
  next?.focus()
}

function nextItem(key: string, items: readonly HTMLElement[], at: number): HTMLElement | undefined {
  const item = items[at]
  switch (key) {
    case 'ArrowDown':
      return items[at + 1]
    case 'ArrowUp':
      return items[at - 1]
    case 'ArrowRight':
      return item?.ariaExpanded === 'true' && item.hasAttribute('aria-owns') ? items[at + 1] : undefined
    case 'ArrowLeft': {
      if (item?.ariaExpanded === 'true') return undefined
      const parent = item?.closest('[role="group"]')?.previousElementSibling
      return parent instanceof HTMLElement ? parent : undefined
    }
    case 'Home':
      return items[0]
    case 'End':
      return items.at(-1)
    default:
      return key.length === 1 && key !== ' ' ? startingWith(key, items, at) : undefined
  }
}

function startingWith(letter: string, items: readonly HTMLElement[], at: number): HTMLElement | undefined {
  const starts = ({ textContent }: HTMLElement) =>
    textContent?.toLowerCase().startsWith(letter.toLowerCase()) === true
  return [...items.slice(at + 1), ...items.slice(0, at)].find(starts)
}
