import type { Capability } from '@berth/client'
import { capabilities } from '@berth/client/generated/capabilities.ts'

/** Capabilities by what they are about, with what each permits. */

export interface KnownCapability {
  readonly wire: Capability
  /** As in the command line: `repo.create`. */
  readonly name: string
  readonly description: string
}

export interface CapabilityGroup {
  readonly title: string
  readonly capabilities: readonly KnownCapability[]
}

/** By the first part of the name. The others are in the group of what is left. */
const titles: readonly (readonly [title: string, ...areas: string[]])[] = [
  ['Folders', 'groups'],
  ['People and roles', 'roles', 'role_bindings', 'group_invites'],
  ['Workload identities', 'identity'],
  ['Sign-in and accounts', 'identity_providers', 'account_associations'],
  ['Repositories', 'repo', 'repo_policies', 'registry'],
  [
    'Images and tags',
    'manifest',
    'tag',
    'referrers',
    'record_signatures',
    'sboms',
    'attestations',
    'vuln_reports',
  ],
  ['Advisories and vulnerabilities', 'advisories', 'vuln', 'vuln_report', 'argos'],
  ['Packages', 'apk', 'packages', 'version', 'build_report'],
  ['Libraries', 'libraries'],
  ['Policies', 'policies'],
  ['Events', 'subscriptions'],
]
const OTHERS = 'Others'

const areaOf = (name: string): string => name.split('.')[0] ?? ''
const titleOf = (name: string): string =>
  titles.find(([, ...areas]) => areas.includes(areaOf(name)))?.[0] ?? OTHERS

export const knownCapabilities: readonly KnownCapability[] = capabilities

const byWire: ReadonlyMap<string, KnownCapability> = new Map(capabilities.map((one) => [one.wire, one]))
const byName: ReadonlyMap<string, KnownCapability> = new Map(capabilities.map((one) => [one.name, one]))

export const capabilityNamed = (name: string): KnownCapability | undefined => byName.get(name)

/** "create repos": what a capability permits, in a sentence. */
export function permits(name: string): string {
  const text = byName.get(name)?.description.replace(/\.$/, '') ?? name
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`
}

/** Those that this console knows. */
export const knownOf = (wires: readonly string[]): readonly string[] =>
  wires.filter((wire) => byWire.has(wire))

/** Groups in the order of the titles. Capabilities that this console does not know, such as those of operators, are left out. */
export function groupCapabilities(wires: readonly string[]): readonly CapabilityGroup[] {
  const known = wires.flatMap((wire) => byWire.get(wire) ?? [])
  return [...titles.map(([title]) => title), OTHERS].flatMap((title) => {
    const found = known.filter(({ name }) => titleOf(name) === title)
    return found.length === 0 ? [] : [{ title, capabilities: found }]
  })
}

/** What one role has and another one has not, in a group. */
export interface ComparedGroup {
  readonly title: string
  readonly added: readonly KnownCapability[]
  readonly lacking: readonly KnownCapability[]
}

/** Compares the capabilities of a role with those of another one. Groups that are equal are left out. */
export function compareCapabilities(
  role: readonly string[],
  other: readonly string[],
): readonly ComparedGroup[] {
  const added = new Set(role.filter((wire) => !other.includes(wire)))
  const lacking = new Set(other.filter((wire) => !role.includes(wire)))
  return groupCapabilities([...added, ...lacking]).map(({ title, capabilities: different }) => ({
    title,
    added: different.filter(({ wire }) => added.has(wire)),
    lacking: different.filter(({ wire }) => lacking.has(wire)),
  }))
}

/** Capabilities whose name or description contains a text. */
export function searchCapabilities(text: string): readonly string[] {
  const wanted = text.trim().toLowerCase()
  return capabilities
    .filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted))
    .map(({ wire }) => wire)
}
