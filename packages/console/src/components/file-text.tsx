import { Download } from 'lucide-react'
import { Button } from 'react-aria-components'
import { saveFile } from '../download.ts'
import { CopyButton } from './copy.tsx'

interface FileTextProps {
  /** The name of the downloaded file. */
  readonly name: string
  readonly text: string
  /** What it is, for screen readers: "the workflow". */
  readonly label: string
}

/** The text of a file, to copy or download. */
export function FileText({ name, text, label }: FileTextProps) {
  return (
    <div className="file-text">
      <div className="file-head">
        <code>{name}</code>
        <span className="file-actions">
          <CopyButton text={text} label={label} />
          <Button
            className="icon-button"
            aria-label={`Download ${label}`}
            onPress={() => saveFile(name, new Blob([text], { type: 'text/plain' }))}
          >
            <Download aria-hidden size={16} />
          </Button>
        </span>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what is too wide */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </div>
  )
}
