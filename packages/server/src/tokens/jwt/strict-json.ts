import { limits } from '../../config/limits.ts'
import { hasDuplicateMember, scanJson } from '../../runtime/json/json-scan.ts'

/** Reads JSON that identifies a caller: bounded, and with each member once, so that all readers see the same. */

const bounds = { depthMax: limits.jwtDepthMax, elementsMax: limits.jwtElementsMax }

export type StrictJson = { readonly value: unknown } | { readonly problem: 'form' | 'size' | 'repeated' }

/**
 * Parses JSON text. `form`: it is not JSON; `size`: more than jwtDepthMax or jwtElementsMax; `repeated`: an object has a member twice
 * (RFC 7519, section 4, lets readers refuse that).
 */
export function parseStrictJson(text: string): StrictJson {
  const scan = scanJson(text, bounds)
  if (scan.exceeded !== undefined) return { problem: 'size' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'form' }
  }
  return hasDuplicateMember(scan, value) ? { problem: 'repeated' } : { value }
}

/** The JSON object in a part of a compact JWS: header or payload. `form`: it is none. */
export function readJwtPart(
  part: string,
): { readonly object: Readonly<Record<string, unknown>> } | Extract<StrictJson, { problem: unknown }> {
  // Buffer passes over what is not base64url.
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return { problem: 'form' }
  let text: string
  try {
    text = utf8.decode(Buffer.from(part, 'base64url'))
  } catch {
    return { problem: 'form' }
  }
  const parsed = parseStrictJson(text)
  if ('problem' in parsed) return parsed
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { object: value as Readonly<Record<string, unknown>> }
    : { problem: 'form' }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Why a part of a token is refused, for error messages: `the header of the token has a member twice`. */
export function jwtPartProblem(part: 'header' | 'payload', problem: 'form' | 'size' | 'repeated'): string {
  const what = {
    form: 'is not a JSON object',
    size: `is nested deeper than ${limits.jwtDepthMax} levels or has more than ${limits.jwtElementsMax} values`,
    repeated: 'has a member twice',
  }
  return `the ${part} of the token ${what[problem]}`
}

/**
 * Why the header or payload of a compact JWS is refused that a library verifies; undefined if both are bounded objects without
 * repeated members. The library sees the last of two members, other readers the first.
 */
export function jwtProblem(token: string): string | undefined {
  const [header = '', payload = ''] = token.split('.', 2)
  for (const [name, part] of [
    ['header', header],
    ['payload', payload],
  ] as const) {
    const read = readJwtPart(part)
    if ('problem' in read) return jwtPartProblem(name, read.problem)
  }
  return undefined
}
