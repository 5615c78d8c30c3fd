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

/** What a valid field of a resource leads to. */
export interface Warning {
  readonly effect: string
  /** As in violations, the path in lowerCamelCase; the adapter spells it as its protocol does. */
  readonly field: string
  readonly problem: string
}

interface Warned {
  warnings?: readonly Warning[] | undefined
}

/** Adds warnings to the response of a call. */
export function addWarnings(call: Warned, warnings: readonly Warning[]): void {
  if (warnings.length > 0) call.warnings = [...(call.warnings ?? []), ...warnings]
}

/** Gives the fields of the warnings of a call other names, as `withFieldNames` does with violations. */
export function renameWarningFields(call: Warned, renameField: (field: string) => string): void {
  if (call.warnings === undefined) return
  call.warnings = call.warnings.map((one) => ({ ...one, field: renameField(one.field) }))
}

/** Returns the header, or metadata, of the warnings of a call, if it has any. `renameField` spells their fields as the caller does. */
export function warningHeader(
  { warnings }: Warned,
  renameField: (field: string) => string,
): { readonly warning: string } | undefined {
  if (warnings === undefined) return undefined
  const texts = warnings.map(({ effect, field, problem }) => `${effect}: ${renameField(field)} ${problem}`)
  return { warning: texts.slice(0, limits.warningsMax).map(formatWarning).join(', ') }
}
