import { hasNul } from '@berth/contract/nul.ts'
import { formatLimits } from '../limits.ts'
import { DocumentProblem, NO_OFFSET } from './source-value.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8 without a byte order mark. Throws a DocumentProblem that names the actual encoding. */
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
      'the document has the character U+0000: it is binary or not in UTF-8',
    )
  }
  if (text.trim() === '') throw new DocumentProblem(NO_OFFSET, 'the document is empty')
  return text
}

/** Decodes as much of the text as possible, to locate problems. */
export function decodeLossy(content: Uint8Array): string {
  return new TextDecoder().decode(content)
}

/** Checks for a byte order mark, or else for zero bytes beside the first character. */
function isUtf16OrUtf32([first, second]: Uint8Array): boolean {
  return (
    (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff) || first === 0 || second === 0
  )
}

function decodeUtf8(content: Uint8Array): string {
  try {
    // The decoder removes the byte order mark.
    return UTF8.decode(content)
  } catch {
    throw new DocumentProblem(
      decodeLossy(content).indexOf('\ufffd'),
      'the document is not in UTF-8: convert it',
    )
  }
}
