import { documentLimits } from '../../documents/document-limits.ts'
import { type JsonObject, looseObjectsIn, objectIn, shownText } from '../../documents/json-values.ts'

const { sbomLicenseCharsMax, sbomLicenseMembersMax } = documentLimits

/** Returns an SPDX expression, or the names of several licences joined by AND; '' if there are none or they are too long. */
export function licenseOf(component: JsonObject): string {
  const texts = looseObjectsIn(component, 'licenses', sbomLicenseMembersMax).flatMap((choice) => {
    const license = objectIn(choice, 'license')
    const text =
      shownText(choice, 'expression', sbomLicenseCharsMax) ||
      shownText(license, 'id', sbomLicenseCharsMax) ||
      shownText(license, 'name', sbomLicenseCharsMax)
    return text === '' ? [] : [text]
  })
  const distinct = [...new Set(texts)]
  const joined =
    distinct.length === 1
      ? (distinct[0] as string)
      : distinct.map((text) => (/ OR /.test(text) ? `(${text})` : text)).join(' AND ')
  return joined.length > sbomLicenseCharsMax ? '' : joined
}
