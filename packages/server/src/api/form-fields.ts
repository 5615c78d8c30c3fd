import { limits } from '../config/limits.ts'
import { invalidArgument, invalidPart } from './errors.ts'

/**
 * Parses `application/x-www-form-urlencoded` text. Fails with code 3 if it has more than `fieldsMax` fields, before it creates
 * any, or a field longer than `formFieldCharsMax`.
 */
export function parseFormFields(text: string, fieldsMax: number = limits.formFieldsMax): URLSearchParams {
  let fields = 1
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    fields += 1
    if (fields > fieldsMax) throw invalidPart('body', `may have at most ${fieldsMax} fields`)
  }
  const parsed = new URLSearchParams(text)
  for (const [name, value] of parsed) {
    if (value.length > limits.formFieldCharsMax)
      throw invalidArgument(name, `may have at most ${limits.formFieldCharsMax} characters`)
  }
  return parsed
}
