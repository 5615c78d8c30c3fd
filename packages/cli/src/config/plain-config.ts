/**
 * Parses the configuration file in the form that `berth config` writes, because loading the YAML library would take most of the time of
 * `berth auth token`. Returns undefined for any other YAML.
 */

type Profiles = Readonly<Record<string, Readonly<Record<string, string>>>>

const NON_STRING_SCALAR = '(?:null|Null|NULL|true|True|TRUE|false|False|FALSE)'
/** Plain scalars that YAML always reads as text. */
const PLAIN_SCALAR = `(?!${NON_STRING_SCALAR}$)[A-Za-z][\\w./@-]*(?::[\\w./@-]+)*`
const HEX_UID = '(?=.*[a-df/])[0-9a-f]{40}(?:/[0-9a-f]{16})*'
const NAME = `((?!${NON_STRING_SCALAR}:)[A-Za-z][\\w.-]*)`
const line = {
  profile: new RegExp(`^profile: (${PLAIN_SCALAR})$`),
  name: new RegExp(`^ {2}${NAME}:( \\{\\})?$`),
  property: new RegExp(`^ {4}${NAME}: (${PLAIN_SCALAR}|${HEX_UID})$`),
}

export function parsePlainConfig(
  text: string,
): { readonly profile?: string; readonly profiles?: Profiles } | undefined {
  const lines = text.split('\n')
  if (lines.pop() !== '') return undefined
  const [, profile] = line.profile.exec(lines[0] ?? '') ?? []
  if (profile === undefined) return undefined
  if (lines.length === 1) return { profile }
  if (lines[1] !== 'profiles:' || lines.length === 2) return undefined
  const profiles = new Map<string, Map<string, string>>()
  let inside: Map<string, string> | undefined
  for (const [at, each] of lines.entries()) {
    if (at < 2) continue
    const [, property, value] = line.property.exec(each) ?? []
    if (property !== undefined && value !== undefined) {
      if (inside === undefined || inside.has(property)) return undefined
      inside.set(property, value)
      continue
    }
    const [, name, empty] = line.name.exec(each) ?? []
    if (name === undefined || profiles.has(name)) return undefined
    const isFilled = lines[at + 1]?.startsWith('    ') === true
    if (isFilled === (empty !== undefined)) return undefined
    inside = empty === undefined ? new Map() : undefined
    profiles.set(name, inside ?? new Map())
  }
  return {
    profile,
    profiles: Object.fromEntries([...profiles].map(([name, own]) => [name, Object.fromEntries(own)])),
  }
}
