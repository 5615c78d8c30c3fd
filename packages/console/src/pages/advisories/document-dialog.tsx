import type { AdvisorySource } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Button } from 'react-aria-components'
import { type DocumentOwner, documentContentQuery } from '../../api/queries/advisories.ts'
import { InfoDialog } from '../../components/info-dialog.tsx'
import { Problem } from '../../components/problem.tsx'
import { formatBytes, formatNumber } from '../../components/quantity.tsx'
import { saveFile } from '../../download.ts'

/** More would make the page slow; the whole document can be saved. */
const SHOWN_CHARS_MAX = 200_000

interface DocumentDialogProps {
  readonly owner: DocumentOwner
  readonly document: AdvisorySource
  readonly onClose: () => void
}

/** A document as it was published, as text. */
export function DocumentDialog({ owner, document: { format, id, name }, onClose }: DocumentDialogProps) {
  const { data, error, refetch } = useQuery(documentContentQuery(owner, format, id))
  return (
    <InfoDialog title={<bdi>{id}</bdi>} onClose={onClose}>
      {data === undefined && error === null && (
        <p className="muted" role="status">
          Loading the document…
        </p>
      )}
      {data === undefined && error !== null && (
        <Problem title="Document not available" failure={error} onRetry={() => void refetch()} />
      )}
      {data !== undefined && <DocumentText content={data.content} fileName={name || id} />}
    </InfoDialog>
  )
}

function DocumentText({ content, fileName }: { readonly content: string; readonly fileName: string }) {
  const bytes = useMemo(
    () => Uint8Array.from(atob(content), (character) => character.charCodeAt(0)),
    [content],
  )
  const text = useMemo(() => new TextDecoder().decode(bytes), [bytes])
  const hidden = text.length - SHOWN_CHARS_MAX
  return (
    <>
      <p>
        <span className="muted">{formatBytes(bytes.byteLength)}</span>{' '}
        <Button
          className="link"
          // Not of a type that a browser would show.
          onPress={() => saveFile(fileName, new Blob([bytes], { type: 'application/octet-stream' }))}
        >
          Save the document
        </Button>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard */}
      <section className="document" aria-label="Content of the document" tabIndex={0}>
        <pre>{text.slice(0, SHOWN_CHARS_MAX)}</pre>
      </section>
      {hidden > 0 && (
        <p className="muted">{formatNumber(hidden)} more characters are in the saved document.</p>
      )}
    </>
  )
}
