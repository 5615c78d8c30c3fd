import {
  type FieldValues,
  type Platform,
  type PlatformName,
  platformRule,
  platforms,
} from '@berth/workloads/platforms.ts'
import type { AddressState } from '../../address-query.ts'
import { quoted } from '../../components/copy.tsx'
import { type CustomRule, customRule, defaultExpiry } from '../identities/rule.ts'

/** What the wizard knows: the platform, what was typed, and the step. All but keys is in the address. */

export type PlatformChoice = PlatformName | 'oidc' | 'static'

export const choices: readonly {
  readonly id: PlatformChoice
  readonly title: string
  readonly text: string
}[] = [
  { id: 'github', title: 'GitHub Actions', text: 'Workflows of a repository' },
  { id: 'gitlab', title: 'GitLab CI', text: 'Pipelines of a project, also of your own server' },
  { id: 'kubernetes', title: 'Kubernetes', text: 'Pods with a service account' },
  { id: 'buildkite', title: 'Buildkite', text: 'Steps of a pipeline' },
  { id: 'aws-role', title: 'AWS role', text: 'EC2, ECS, Lambda and other services with a role' },
  { id: 'aws-user', title: 'AWS user', text: 'A user with access keys' },
  { id: 'oidc', title: 'Other OIDC issuer', text: 'Tokens of any issuer with published keys' },
  { id: 'static', title: 'Static keys', text: 'Tokens of an issuer that this server cannot reach' },
]

export const steps = ['platform', 'details', 'role'] as const
export type Step = (typeof steps)[number]

export interface WizardState {
  readonly platform: PlatformChoice | undefined
  /** Values of fields by their names, for each platform: what was typed stays if the user looks at another one. */
  readonly typed: Readonly<Partial<Record<PlatformChoice, FieldValues>>>
  readonly name: string
  readonly description: string
  /** uid; undefined for the one that is proposed, '' for none. */
  readonly role: string | undefined
}

const PREFIX = 'f-'
const NO_ROLE = 'none'
/** Too long for an address. */
const NOT_IN_ADDRESS = 'issuerKeys'

export function readState(address: AddressState): WizardState {
  const fields = Object.entries(address).flatMap(([name, value = '']) =>
    name.startsWith(PREFIX) ? [[name.slice(PREFIX.length), value] as const] : [],
  )
  const platform = choices.find(({ id }) => id === address['platform'])?.id
  return {
    platform,
    typed: platform === undefined ? {} : { [platform]: Object.fromEntries(fields) },
    name: address['name'] ?? '',
    description: address['description'] ?? '',
    role: address['role'] === NO_ROLE ? '' : address['role'],
  }
}

/** What was typed for the platform that is chosen. */
export const fieldsOf = ({ platform, typed }: WizardState): FieldValues =>
  platform === undefined
    ? {}
    : { ...(platform === 'static' && { expires: defaultExpiry() }), ...typed[platform] }

/** The fields of a platform that the form shows. */
const fieldNames = (platform: PlatformChoice): readonly string[] => {
  if (platform === 'static') return ['issuer', 'subject', 'expires', 'audience']
  if (platform === 'oidc')
    return [
      ...['issuer', 'issuerIs', 'subject', 'subjectIs', 'audience', 'audienceIs'],
      ...['claims', 'claimPatterns'],
    ]
  return platforms[platform].fields.map(({ name }) => name)
}

/** Returns the state for the address. Parts of it that are no longer needed are ''. */
export function writeState(state: WizardState, before: AddressState): AddressState {
  const { platform, name, description, role } = state
  const fields = fieldsOf(state)
  const stale = Object.keys(before).filter((key) => key.startsWith(PREFIX))
  const shown = platform === undefined ? [] : fieldNames(platform)
  return {
    ...Object.fromEntries(stale.map((key) => [key, ''])),
    ...Object.fromEntries(
      shown.filter((key) => key !== NOT_IN_ADDRESS).map((key) => [PREFIX + key, fields[key] ?? '']),
    ),
    platform: platform ?? '',
    name,
    description,
    role: role === '' ? NO_ROLE : (role ?? ''),
  }
}

/** Returns the rule of the state, or why fields are invalid. */
export function ruleOf(state: WizardState): CustomRule {
  const { platform } = state
  const fields = fieldsOf(state)
  if (platform === undefined) return { problems: { platform: 'is required' } }
  return platform === 'oidc' || platform === 'static'
    ? customRule(platform, fields)
    : platformRule(platform, fields)
}

/** A name from what was typed: of the repository, the service account and so on. */
export function proposedName(state: WizardState): string {
  const { platform } = state
  const fields = fieldsOf(state)
  const source = fields['repo'] ?? fields['project'] ?? fields['pipeline'] ?? fields['serviceAccount']
  const typed = platform?.startsWith('aws') === true ? fields['name'] : (source ?? fields['subject'])
  const last = (typed ?? '').split('/').at(-1) ?? ''
  return last
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ._-]/g, '-')
    .slice(0, 60)
}

/** The command that creates the same identity. */
export function commandOf(state: WizardState, path: string, roleName: string): string {
  const { platform, name } = state
  const fields = fieldsOf(state)
  if (platform === undefined) return 'berth iam identities create --help'
  const value = (key: string) => (fields[key] ?? '').trim()
  const option = (flag: string, text: string) => (text === '' ? [] : [`${flag} ${quoted(text)}`])
  const exactOr = (flag: string, patternFlag: string, key: string) =>
    option(fields[`${key}Is`] === 'pattern' ? patternFlag : flag, value(key))
  const pairs = (flag: string, key: string) =>
    value(key)
      .split('\n')
      .flatMap((line) => option(flag, line.trim().replace(/\s*:\s*/, ':')))
  const ruleOptions = {
    oidc: () => [
      ...exactOr('--identity-issuer', '--identity-issuer-pattern', 'issuer'),
      ...exactOr('--subject', '--subject-pattern', 'subject'),
      ...exactOr('--claim-audience', '--audience-pattern', 'audience'),
      ...pairs('--claim', 'claims'),
      ...pairs('--claim-pattern', 'claimPatterns'),
    ],
    static: () => [
      ...option('--identity-issuer', value('issuer')),
      ...option('--subject', value('subject')),
      '--issuer-keys keys.json',
      ...option('--expiration', value('expires').slice(0, 10)),
      ...option('--claim-audience', value('audience')),
    ],
  }
  const custom = platform === 'oidc' || platform === 'static'
  return [
    'berth iam identities create',
    custom ? 'token' : platform,
    quoted(name === '' ? 'NAME' : name),
    ...(custom
      ? ruleOptions[platform]()
      : (platforms[platform] as Platform).fields.flatMap((field) =>
          value(field.name) === field.default ? [] : option(field.flag, value(field.name)),
        )),
    `--parent ${quoted(path)}`,
    ...option('--description', state.description),
    ...option('--role', roleName),
  ].join(' ')
}
