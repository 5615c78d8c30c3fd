import { limits } from '../../config/limits.ts'
import { scanJson } from './json-scan.ts'

/**
 * Parses JSON that an outside server or a caller supplied, whose bytes are limited already. Throws a SyntaxError for text that is not
 * JSON, and for JSON beyond `jsonDepthMax` or `jsonElementsMax`, before anything is built from it. The error does not quote the text.
 */
export function parseUntrustedJson(json: string): unknown {
  const { exceeded } = scanJson(json, { depthMax: limits.jsonDepthMax, elementsMax: limits.jsonElementsMax })
  if (exceeded === 'depthMax')
    throw new SyntaxError(`the JSON nests more than ${limits.jsonDepthMax} objects and lists`)
  if (exceeded === 'elementsMax')
    throw new SyntaxError(`the JSON has more than ${limits.jsonElementsMax} values`)
  try {
    return JSON.parse(json)
  } catch {
    throw new SyntaxError('the text is not JSON')
  }
}
