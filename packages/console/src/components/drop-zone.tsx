import { Upload } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button, DropZone, type FileDropItem, FileTrigger } from 'react-aria-components'

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
  return (
    <DropZone
      className="drop-zone"
      aria-label={label}
      onDrop={({ items }) => void Promise.all(items.map(filesOf)).then((files) => onFiles(files.flat()))}
    >
      <Upload aria-hidden size={24} />
      <p>{label}</p>
      {children}
      <FileTrigger
        allowsMultiple={!isSingle}
        acceptedFileTypes={accepted}
        onSelect={(files) => files !== null && onFiles([...files])}
      >
        <Button className="button quiet">{isSingle ? 'Choose a file' : 'Choose files'}</Button>
      </FileTrigger>
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
