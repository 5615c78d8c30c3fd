import { hasNul } from '@berth/contract/nul.ts'
import { formatLimits } from '../limits.ts'
import { DocumentProblem, NO_OFFSET } from './source-value.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** The text of a document in UTF-8, without a byte order mark. Throws a DocumentProblem that says what else it is. */
export function decodeDocument(content: Uint8Array): string {
  if (content.length > formatLimits.advisoryDocumentBytesMax) {
    throw new DocumentProblem(
      NO_OFFSET,
      `the document has more than ${formatLimits.advisoryDocumentBytesMax} bytes`,
    )
  }
  if (isUtf16OrUtf32(content))
    throw new DocumentProblem(NO_OFFSET, 'the document is in UTF-16 or UTF-32: convert it to UTF-8')
  const text = decodeUtf8(content)
  if (hasNul(text)) {
    throw new DocumentProblem(
      text.indexOf('\0'),
      'the document has the character U+0000: it is binary, or in another encoding than UTF-8',
    )
  }
  if (text.trim() === '') throw new DocumentProblem(NO_OFFSET, 'the document is empty')
  return text
}

/** The text as far as it can be read, in which the places of problems are. */
export function decodeLossy(content: Uint8Array): string {
  return new TextDecoder().decode(content)
}

/** By the byte order mark; without one, by the zeros beside the first character. */
function isUtf16OrUtf32([first, second]: Uint8Array): boolean {
  return (
    (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || first === 0 || second === 0
  )
}

function decodeUtf8(content: Uint8Array): string {
  try {
    // The decoder leaves out the byte order mark.
    return UTF8.decode(content)
  } catch {
    throw new DocumentProblem(
      decodeLossy(content).indexOf('\ufffd'),
      'the document is not in UTF-8: convert it',
    )
  }
}
