import type { Format, ReadResult } from '../advisory-record.ts'
export function readDocument(_name: string, _format: Format | '', _content: Uint8Array): ReadResult {
  return { rejection: { line: 0, reason: 'stand-in' } }
}
