import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Button, Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { messageOf } from '../../api/query-client.ts'
import { SelectField } from '../../components/field.tsx'
import { formatNumber, plural } from '../../components/quantity.tsx'
import { saveFile } from '../../download.ts'
import { EXPORT_EVENTS_MAX, type ExportedFile, type ExportFormat, exportEvents } from './audit-export.ts'
import type { EventFilter } from './audit-filters.ts'

interface ExportDialogProps {
  readonly filter: EventFilter
  readonly onClose: () => void
}

/** Saves the filtered events as a file. */
export function ExportDialog({ filter, onClose }: ExportDialogProps) {
  const [format, setFormat] = useState<ExportFormat>('csv')
  const [events, setEvents] = useState(0)
  const abort = useRef(new AbortController())
  useEffect(() => {
    const { current } = abort
    return () => current.abort()
  }, [])
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => exportEvents(filter, format, { signal: abort.current.signal, onProgress: setEvents }),
    onSuccess: (file) => saveFile(`audit-${new Date().toISOString().slice(0, 10)}.${format}`, file.blob),
  })
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      onOpenChange={(isOpen) => isOpen || onClose()}
      // Closing the dialog ends the export: a key or a click beside the dialog does not.
      isDismissable={!isPending}
      isKeyboardDismissDisabled={isPending}
    >
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title" level={2}>
            Export events
          </Heading>
          <div className="dialog-text">
            <p>
              The file has the events of the current filters, oldest first: at most{' '}
              {formatNumber(EXPORT_EVENTS_MAX)}. The API exports without a limit.
            </p>
            <SelectField
              label="Format"
              choices={[
                { id: 'csv', name: 'CSV', description: 'for spreadsheets' },
                {
                  id: 'jsonl',
                  name: 'JSON lines',
                  description: 'an event per line, as the API exports them',
                },
              ]}
              value={format}
              onChange={(id) => setFormat(id === 'jsonl' ? 'jsonl' : 'csv')}
            />
            <p role="status">
              {isPending && `Reading ${plural(events, 'event')}…`}
              {data !== undefined && !isPending && summaryOf(data)}
            </p>
            {error !== null && (
              <p className="alert" role="alert">
                {messageOf(error)}
              </p>
            )}
          </div>
          <div className="actions">
            <Button className="button quiet" onPress={onClose}>
              {isPending ? 'Cancel' : 'Close'}
            </Button>
            <Button className="button" isPending={isPending} onPress={() => mutate()}>
              {isPending ? 'Exporting…' : 'Export'}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

const summaryOf = ({ events, isCut }: ExportedFile): string =>
  isCut
    ? `The file has the first ${plural(events, 'event')}. There are more: choose a shorter time.`
    : `The file has ${plural(events, 'event')}.`
