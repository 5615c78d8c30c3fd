import { Upload } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button, DropZone, type FileDropItem, FileTrigger } from 'react-aria-components'
import { messageOf } from '../api/query-client.ts'
import { useLatestSignal } from '../use-latest-signal.ts'

interface FileDropProps {
  readonly label: string
  /** For example `['.json', '.zip']`. */
  readonly accepted: readonly string[]
  /** Only one file is of use. */
  readonly isSingle?: boolean
  readonly onFiles: (files: readonly File[]) => void
  readonly children?: ReactNode
}

/** Files by drag and drop, by paste, or by a dialog. A dropped folder brings all of its files. */
export function FileDrop({ label, accepted, isSingle = false, onFiles, children }: FileDropProps) {
  const [failure, setFailure] = useState<unknown>()
  const [isReading, setReading] = useState(false)
  const nextSignal = useLatestSignal()
  // Folders take a while: what is dropped or chosen later counts.
  const drop = async (items: readonly DropItem[]) => {
    const signal = nextSignal()
    setFailure(undefined)
    setReading(true)
    try {
      const files = await Promise.all(items.map(filesOf))
      if (!signal.aborted) onFiles(files.flat())
    } catch (error) {
      if (!signal.aborted) setFailure(error)
    } finally {
      if (!signal.aborted) setReading(false)
    }
  }
  const choose = (files: FileList | null) => {
    if (files === null) return
    nextSignal()
    setFailure(undefined)
    setReading(false)
    onFiles([...files])
  }
  return (
    <DropZone className="drop-zone" aria-label={label} onDrop={({ items }) => void drop(items)}>
      <Upload aria-hidden size={24} />
      <p>{label}</p>
      {children}
      <FileTrigger allowsMultiple={!isSingle} acceptedFileTypes={accepted} onSelect={choose}>
        <Button className="button quiet">{isSingle ? 'Choose a file' : 'Choose files'}</Button>
      </FileTrigger>
      {isReading && (
        <p className="muted" role="status">
          Reading what was dropped…
        </p>
      )}
      {failure !== undefined && (
        <p className="alert" role="alert">
          What was dropped could not be read. {messageOf(failure)}
        </p>
      )}
    </DropZone>
  )
}

type DropItem = Parameters<NonNullable<Parameters<typeof DropZone>[0]['onDrop']>>[0]['items'][number]

async function filesOf(item: DropItem): Promise<File[]> {
  if (item.kind === 'file') return [await (item as FileDropItem).getFile()]
  if (item.kind !== 'directory') return []
  const files: File[] = []
  for await (const entry of item.getEntries()) files.push(...(await filesOf(entry)))
  return files
}
