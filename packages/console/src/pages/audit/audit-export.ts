import type { AuditEvent } from '@berth/client'
import { session } from '../../api/session.ts'
import type { EventFilter } from './audit-filters.ts'

/** Saves events as a file. The server streams the export (docs/audit.md); the file is built in the page. */

export type ExportFormat = 'csv' | 'jsonl'

/** What a page can hold in memory. The command line exports without a limit. */
export const EXPORT_EVENTS_MAX = 100_000

export interface ExportedFile {
  readonly blob: Blob
  readonly events: number
  /** There are more events than the file has. */
  readonly isCut: boolean
}

/** `onProgress` is called with the number of events. Throws an Error with the message of the server, or of a broken connection. */
export async function exportEvents(
  filter: EventFilter,
  format: ExportFormat,
  { signal, onProgress }: { readonly signal: AbortSignal; readonly onProgress: (events: number) => void },
): Promise<ExportedFile> {
  const response = await fetch(`/audit/v1/events:export?${parametersOf(filter)}`, {
    headers: { 'x-berth-csrf': session.csrfToken },
    credentials: 'same-origin',
    referrerPolicy: 'same-origin',
    signal,
  })
  if (!response.ok || response.body === null) throw new Error(await failureOf(response))
  const parts: string[] = format === 'csv' ? [`${columns.join(',')}\r\n`] : []
  let events = 0
  let rest = ''
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    const kept = lines.slice(0, EXPORT_EVENTS_MAX - events)
    if (kept.length > 0) parts.push(format === 'csv' ? kept.map(toCsv).join('') : `${kept.join('\n')}\n`)
    events += kept.length
    onProgress(events)
    if (events >= EXPORT_EVENTS_MAX) {
      const isCut = kept.length < lines.length || rest !== '' || !(await reader.read()).done
      await reader.cancel()
      return { blob: blobOf(parts, format), events, isCut }
    }
  }
  return { blob: blobOf(parts, format), events, isCut: false }
}

const types: Readonly<Record<ExportFormat, string>> = { csv: 'text/csv', jsonl: 'application/x-ndjson' }

const blobOf = (parts: readonly string[], format: ExportFormat) =>
  new Blob([...parts], { type: `${types[format]};charset=utf-8` })

function parametersOf({ uidp, ...filter }: EventFilter): URLSearchParams {
  const parameters = new URLSearchParams()
  if (uidp?.descendantsOf) parameters.set('uidp.descendants_of', uidp.descendantsOf)
  for (const [name, value] of Object.entries(filter))
    if (value !== undefined) parameters.set(name, String(value))
  return parameters
}

async function failureOf(response: Response): Promise<string> {
  const body: { readonly message?: string } | undefined = await response.json().catch(() => undefined)
  return body?.message ?? `The server responded with ${response.status}`
}

const columns = [
  'createTime',
  'actor',
  'method',
  'resourceUid',
  'code',
  'reason',
  'count',
  'requestId',
  'address',
  'issuer',
  'subject',
  'uid',
] as const satisfies readonly (keyof AuditEvent)[]

function toCsv(line: string): string {
  const event = JSON.parse(line) as Partial<AuditEvent>
  return `${columns.map((column) => csvCell(String(event[column] ?? ''))).join(',')}\r\n`
}

/** Spreadsheets run cells that start like a formula; texts of events come from callers. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
