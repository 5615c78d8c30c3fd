import { limits } from '../config/limits.ts'

/**
 * Warnings of successful requests, as `Warning: 299 - "text"` (RFC 7234 section 5.5): headers of HTTP and metadata of gRPC. Clients print
 * them.
 */

/** Formats a warning as a quoted string without quotes and line ends inside. */
export function formatWarning(text: string): string {
  const shown = text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, "'")
  return `299 - "${shown.slice(0, limits.warningCharsMax)}"`
}

/** Adds warnings to the response of a call. */
export function addWarnings(
  call: { replyHeaders?: Readonly<Record<string, string>> | undefined },
  texts: readonly string[],
): void {
  if (texts.length === 0) return
  const warning = texts.slice(0, limits.warningsMax).map(formatWarning).join(', ')
  call.replyHeaders = { ...call.replyHeaders, warning }
}
