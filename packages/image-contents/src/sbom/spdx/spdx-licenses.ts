import { documentLimits } from '../../documents/document-limits.ts'
import { type JsonObject, objectsIn, rawText, shownText } from '../../documents/json-values.ts'

const { sbomLicenseCharsMax, sbomPackagesMax } = documentLimits

/** The names of licences that the document defines itself, by their `LicenseRef`. */
export function licenseNames(root: JsonObject): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const license of objectsIn(root, 'hasExtractedLicensingInfos', sbomPackagesMax)) {
    const name = shownText(license, 'name', sbomLicenseCharsMax)
    if (isStated(name)) names.set(rawText(license, 'licenseId'), name)
  }
  return names
}

/** Returns the licence that the package declares, else the one that the author of the SBOM concluded; '' if neither is stated. */
export function licenseOf(element: JsonObject, names: ReadonlyMap<string, string>): string {
  for (const field of ['licenseDeclared', 'licenseConcluded']) {
    const license = shownText(element, field, sbomLicenseCharsMax)
    if (isStated(license)) return names.get(license) ?? license
  }
  return ''
}

/** Whether the text is a license. */
export function isStated(license: string): boolean {
  return license !== '' && license !== 'NOASSERTION' && license !== 'NONE'
}
