import { useState } from 'react'
import { Button } from 'react-aria-components'
import { formatNumber } from './quantity.tsx'

const SHOWN_CHARACTERS = 400

/** Text of an author in a table, such as a command: a long one is shown as a whole on request. */
export function LongText({ text }: { readonly text: string }) {
  const [isOpen, setOpen] = useState(false)
  const isLong = text.length > SHOWN_CHARACTERS
  return (
    <>
      <code className="long-text">{isLong && !isOpen ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text}</code>
      {isLong && (
        <Button className="link" aria-expanded={isOpen} onPress={() => setOpen(!isOpen)}>
          {isOpen ? 'Show less' : `Show all ${formatNumber(text.length)} characters`}
        </Button>
      )}
    </>
  )
}
