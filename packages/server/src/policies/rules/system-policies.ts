import { createHash } from 'node:crypto'
import type { FieldViolation } from '../../api/errors.ts'
import { DAY_MS, limits } from '../../config/limits.ts'
import { checkPatterns, matches, matchesAny } from '../../registry/policies/tag-patterns.ts'
import { type FactName, type ImageFacts, severities, type VulnerabilityFact } from '../facts/image-facts.ts'
import { acceptsLicense, matchesLicense } from './licenses.ts'
import type { ParameterDeclaration, Parameters } from './parameters.ts'
import type { PolicyRule } from './policy-rule.ts'

/** The policies that come with the server. They are listed for every caller; their ids are the same in every installation. */

export interface SystemPolicy extends PolicyRule {
  /** 40 hexadecimal digits. */
  readonly uid: string
  readonly name: string
  readonly description: string
  /** Rules between parameters, and beyond their types. */
  check?(parameters: Parameters): readonly (FieldViolation | undefined)[]
}

const DAYS_MAX = 36_500

function policy(rule: Omit<SystemPolicy, 'uid'>): SystemPolicy {
  const uid = createHash('sha256').update(`berth system policy ${rule.name}`).digest('hex').slice(0, 40)
  return { uid, ...rule }
}

function days(
  name: string,
  description: string,
  more: Partial<ParameterDeclaration> = {},
): ParameterDeclaration {
  return { name, type: 'integer', description, minimum: 0, maximum: DAYS_MAX, ...more }
}

const text = (parameters: Parameters, name: string) => String(parameters[name] ?? '')
const integer = (parameters: Parameters, name: string) => Number(parameters[name] ?? 0)
const texts = (parameters: Parameters, name: string) => (parameters[name] ?? []) as readonly string[]

/** Returns a fact that the policy needs, which the evaluate therefore passes. */
function fact<N extends FactName>(facts: Partial<ImageFacts>, name: N): ImageFacts[N] {
  const value = facts[name]
  if (value === undefined) throw new Error(`the fact ${name} is missing`)
  return value as ImageFacts[N]
}

/** Checks patterns with `*` of texts that are not tag names. */
function checkTextPatterns(name: string, patterns: readonly string[]): (FieldViolation | undefined)[] {
  return patterns.map((pattern, at) =>
    pattern !== '' && pattern.split('*').length - 1 <= limits.tagPatternStarsMax
      ? undefined
      : {
          field: `parameters.${name}[${at}]`,
          description: `must not be empty, and have at most ${limits.tagPatternStarsMax} *`,
        },
  )
}

function requireEntries(parameters: Parameters, name: string): FieldViolation | undefined {
  return texts(parameters, name).length > 0
    ? undefined
    : { field: `parameters.${name}`, description: 'must have at least one entry' }
}

/** Names in messages, at most this many. */
const SHOWN_MAX = 3

function shown(names: readonly string[]): string {
  const more = names.length - SHOWN_MAX
  return names.slice(0, SHOWN_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

const counted = (vulnerabilities: number): string =>
  `${vulnerabilities} ${vulnerabilities === 1 ? 'vulnerability' : 'vulnerabilities'}`

export const systemPolicies: readonly SystemPolicy[] = [
  policy({
    name: 'highest-severity',
    description:
      'Denies images with vulnerabilities of a severity, after a time to fix them. Vulnerabilities without a fix can be waived.',
    parameters: [
      {
        name: 'severity',
        type: 'string',
        description: 'Lowest severity that is denied.',
        default: 'high',
        allowedValues: severities,
      },
      days('grace_days', 'Days for which a vulnerability that was found is accepted.', { default: 0 }),
      days(
        'waive_unfixed_after_days',
        'Days after which a vulnerability without a fix no longer denies the image. 0: never; -1: vulnerabilities without a fix never deny.',
        { default: 0, minimum: -1 },
      ),
    ],
    needs: () => ['vulnerabilities'],
    evaluate(facts, parameters) {
      const least = severities.indexOf(text(parameters, 'severity') as (typeof severities)[number])
      const waiver = integer(parameters, 'waive_unfixed_after_days')
      const isWaived = ({ fixed, days: age }: VulnerabilityFact) =>
        !fixed && (waiver === -1 || (waiver > 0 && age >= waiver))
      const denied = fact(facts, 'vulnerabilities').filter(
        (one) =>
          severities.indexOf(one.severity) >= least &&
          one.days >= integer(parameters, 'grace_days') &&
          !isWaived(one),
      )
      if (denied.length === 0) return undefined
      const worst = denied.toSorted((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity))
      return `it has ${counted(denied.length)} of severity ${text(parameters, 'severity')} or higher: ${shown(worst.map(({ id, severity }) => `${id} (${severity})`))}`
    },
  }),
  policy({
    name: 'signed-by',
    description:
      'Denies images without a signature of one of some identities that a signature verifier of the group, or of one above it, has verified.',
    parameters: [
      {
        name: 'identities',
        type: 'string_list',
        description:
          'Identities of certificates that may sign, or `verifier:` with the name or uid of a signature verifier. `*` stands for any characters.',
      },
    ],
    check: (parameters) => [
      requireEntries(parameters, 'identities'),
      ...checkTextPatterns('identities', texts(parameters, 'identities')),
    ],
    needs: () => ['signers'],
    evaluate(facts, parameters) {
      const identities = texts(parameters, 'identities')
      const signers = [...new Set(fact(facts, 'signers').map(({ name }) => name))]
      if (signers.some((signer) => identities.some((identity) => matches(identity, signer)))) return undefined
      const actual =
        signers.length === 0 ? 'it has no verified signature' : `it is signed by ${shown(signers)}`
      return `${actual}, and must be signed by ${shown(identities)}`
    },
  }),
  policy({
    name: 'maximum-age',
    description: 'Denies images that were built or pushed too long ago.',
    parameters: [
      days('days', 'Greatest age in days.', { minimum: 1 }),
      {
        name: 'since',
        type: 'string',
        description: 'Event from which the age counts: the time in the configuration, or the first push.',
        default: 'created',
        allowedValues: ['created', 'pushed'],
      },
    ],
    needs: (parameters) => [text(parameters, 'since') === 'pushed' ? 'pushed' : 'created'],
    evaluate(facts, parameters, nowMs) {
      const since = text(parameters, 'since') === 'pushed' ? 'pushed' : 'created'
      const age = Math.floor((nowMs - fact(facts, since)) / DAY_MS)
      const most = integer(parameters, 'days')
      return age < most ? undefined : `it was ${since} ${age} days ago, and may be at most ${most} days old`
    },
  }),
  policy({
    name: 'base-image',
    description: 'Denies images whose base image is not one of some images.',
    parameters: [
      {
        name: 'allowed',
        type: 'string_list',
        description:
          'Names or digests of base images, with `*` for any characters. An image names its base in the annotations or labels `org.opencontainers.image.base.name` and `.digest`.',
      },
    ],
    check: (parameters) => [
      requireEntries(parameters, 'allowed'),
      ...checkTextPatterns('allowed', texts(parameters, 'allowed')),
    ],
    needs: () => ['base_name', 'base_digest'],
    evaluate(facts, parameters) {
      const bases = [fact(facts, 'base_name'), fact(facts, 'base_digest')].filter((base) => base !== '')
      const allowed = texts(parameters, 'allowed')
      if (bases.some((base) => allowed.some((pattern) => matches(pattern, base)))) return undefined
      return bases.length === 0
        ? 'it does not name its base image'
        : `its base image is ${bases.join(' at ')}, and must be ${shown(allowed)}`
    },
  }),
  policy({
    name: 'licenses',
    description: 'Denies images with packages under licenses that are denied or not allowed.',
    parameters: [
      {
        name: 'allowed',
        type: 'string_list',
        description: 'SPDX identifiers that packages may have, with `*` for any characters. Empty: all.',
        default: [],
      },
      {
        name: 'denied',
        type: 'string_list',
        description: 'SPDX identifiers that packages must not have, with `*` for any characters.',
        default: [],
      },
    ],
    check: (parameters) => [
      texts(parameters, 'allowed').length + texts(parameters, 'denied').length > 0
        ? undefined
        : { field: 'parameters', description: 'must set allowed or denied' },
      ...checkTextPatterns('allowed', texts(parameters, 'allowed')),
      ...checkTextPatterns('denied', texts(parameters, 'denied')),
    ],
    needs: () => ['licenses'],
    evaluate(facts, parameters) {
      const allowed = texts(parameters, 'allowed')
      const denied = texts(parameters, 'denied')
      const accepts = (license: string) =>
        !matchesLicense(denied, license) && (allowed.length === 0 || matchesLicense(allowed, license))
      const bad = fact(facts, 'licenses').filter((expression) => !acceptsLicense(expression, accepts))
      return bad.length === 0 ? undefined : `it has packages under ${shown(bad)}`
    },
  }),
  policy({
    name: 'end-of-life',
    description: 'Denies images of distributions that get no more fixes.',
    parameters: [
      days('warning_days', 'Days before the end of life from which images are denied.', { default: 0 }),
    ],
    needs: () => ['distribution', 'end_of_life'],
    evaluate(facts, parameters, nowMs) {
      const end = fact(facts, 'end_of_life')
      if (nowMs + integer(parameters, 'warning_days') * DAY_MS < end) return undefined
      return `the end of life of ${fact(facts, 'distribution')} is ${new Date(end).toISOString().slice(0, 10)}`
    },
  }),
  policy({
    name: 'tag-pattern',
    description: 'Denies images whose tag does not match a pattern. A pull by digest needs any matching tag.',
    parameters: [
      {
        name: 'patterns',
        type: 'string_list',
        description: 'Tag names, with `*` for any characters and `?` for one.',
      },
    ],
    check: (parameters) => [
      requireEntries(parameters, 'patterns'),
      ...checkPatterns(texts(parameters, 'patterns'), 'parameters.patterns'),
    ],
    needs: () => ['tag', 'tags'],
    evaluate(facts, parameters) {
      const patterns = texts(parameters, 'patterns')
      const tag = fact(facts, 'tag')
      if (tag !== '')
        return matchesAny(patterns, tag) ? undefined : `the tag ${tag} does not match ${shown(patterns)}`
      return fact(facts, 'tags').some((one) => matchesAny(patterns, one))
        ? undefined
        : `none of its tags matches ${shown(patterns)}`
    },
  }),
  policy({
    name: 'contents-known',
    description: 'Denies images whose contents the server could not read.',
    parameters: [],
    needs: () => ['contents_known'],
    evaluate: (facts) => (fact(facts, 'contents_known') ? undefined : 'its contents are not known'),
  }),
  policy({
    name: 'known-exploited',
    description:
      'Denies images with vulnerabilities that are known to be exploited, by the catalog (KEV) that the organization has imported.',
    parameters: [
      days(
        'grace_days',
        'Days for which a vulnerability is accepted, since it was found and known to be exploited.',
        { default: 0 },
      ),
    ],
    needs: () => ['known_exploited'],
    evaluate(facts, parameters) {
      const denied = fact(facts, 'known_exploited').filter(
        ({ days: age }) => age >= integer(parameters, 'grace_days'),
      )
      if (denied.length === 0) return undefined
      const ids = [...new Set(denied.map(({ id }) => id))]
      return `it has ${counted(ids.length)} that ${ids.length === 1 ? 'is' : 'are'} known to be exploited: ${shown(ids)}`
    },
  }),
]

export const systemPolicyByUid: ReadonlyMap<string, SystemPolicy> = new Map(
  systemPolicies.map((one) => [one.uid, one]),
)

export const systemPolicyByName: ReadonlyMap<string, SystemPolicy> = new Map(
  systemPolicies.map((one) => [one.name, one]),
)
