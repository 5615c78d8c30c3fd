/** Reads and changes CHANGELOG.md: sections that start with `## <version>`, the newest first, below `## Unreleased`. */

const UNRELEASED = '## Unreleased'

/** Returns the text of a section, or undefined if there is none. `version` is `Unreleased` or a version. */
export function sectionOf(changelog: string, version: string): string | undefined {
  const [, text] = changelog.split(new RegExp(`^## ${version.replaceAll('.', '\\.')}(?: \\(.*\\))?$`, 'm'))
  return text?.split(/^## /m)[0]?.trim()
}

/** Turns the section of unreleased changes into the section of a version, with its date. */
export function releaseSection(changelog: string, version: string, date: string): string {
  return changelog.replace(UNRELEASED, `## ${version} (${date})`)
}
