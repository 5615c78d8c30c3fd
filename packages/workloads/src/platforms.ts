import type { IdentityInput } from '@berth/client/berth.ts'
import { escapePattern } from './patterns.ts'

/** Platforms whose jobs can assume an identity: what a user says about the jobs, and the rule that accepts their tokens. */

export interface PlatformField {
  readonly name: string
  /** Option of the command line. */
  readonly flag: string
  readonly label: string
  readonly example: string
  readonly hint?: string
  /** The only valid values. */
  readonly choices?: readonly string[]
  /** Value if none is given. */
  readonly default?: string
  readonly isOptional?: boolean
}

/** Values of fields by their names; an absent value is empty. */
export type FieldValues = Readonly<Record<string, string>>

/** The rule of an identity. */
export type Rule = Pick<IdentityInput, 'claimMatch' | 'staticKeys' | 'awsIdentity'>

export interface Platform {
  readonly title: string
  /** `workflows of a GitHub repository`. */
  readonly jobs: string
  readonly fields: readonly PlatformField[]
  /** Returns why the value of a field is invalid; undefined if it is valid. */
  check?(name: string, value: string, values: FieldValues): string | undefined
  /** Returns the rule for valid values. */
  rule(value: (name: string) => string): Rule
}

const awsFields = (kind: 'role' | 'user', id: string): readonly PlatformField[] => [
  {
    name: 'account',
    flag: '--aws-account-id',
    label: 'Account',
    example: '123456789012',
    hint: 'The 12 digits of the AWS account',
  },
  { name: 'name', flag: `--aws-${kind}-name`, label: `Name of the ${kind}`, example: 'build' },
  {
    name: 'id',
    flag: `--aws-${kind}-id`,
    label: `Unique id of the ${kind}`,
    example: id,
    hint: `aws iam get-${kind} --${kind}-name build. It changes if the ${kind} is created again.`,
  },
  {
    name: 'partition',
    flag: '--aws-partition',
    label: 'Partition',
    example: 'aws',
    choices: ['aws', 'aws-us-gov', 'aws-cn'],
    default: 'aws',
  },
]

const checkAws = (name: string, value: string) =>
  name === 'account' && !/^[0-9]{12}$/.test(value) ? 'must be the 12 digits of an AWS account' : undefined

/** The exact subject, or a pattern for any ref. */
const anyOr = (exact: string, isExact: boolean, pattern: string) =>
  isExact ? { subject: exact } : { subjectPattern: pattern }

export const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com'
export const BUILDKITE_ISSUER = 'https://agent.buildkite.com'
export const GITLAB_URL = 'https://gitlab.com'

export const platforms = {
  github: {
    title: 'GitHub Actions',
    jobs: 'workflows of a GitHub repository',
    fields: [
      { name: 'repo', flag: '--github-repo', label: 'Repository', example: 'acme/app' },
      {
        name: 'ref',
        flag: '--github-ref',
        label: 'Ref',
        example: 'refs/heads/main',
        hint: 'Branch or tag that the workflows run on. Empty: any.',
        isOptional: true,
      },
      {
        name: 'audience',
        flag: '--github-audience',
        label: 'Audience of the tokens',
        example: '',
        hint: 'Empty: the token service of this server.',
        isOptional: true,
      },
    ],
    check(name, value) {
      if (name === 'repo' && !/^[\w.-]+\/[\w.-]+$/.test(value)) return 'must be OWNER/REPO'
      if (name === 'ref' && value !== '' && !/^refs\/(heads|tags)\/./.test(value))
        return `must be a full ref such as refs/heads/${value}`
      return undefined
    },
    rule(value) {
      const repo = value('repo')
      const ref = value('ref')
      const audience = value('audience')
      return {
        claimMatch: {
          issuer: GITHUB_ISSUER,
          ...anyOr(
            `repo:${repo}:ref:${ref}`,
            ref !== '',
            `repo:${escapePattern(repo)}:ref:refs/(heads|tags)/.+`,
          ),
          ...(audience === '' ? {} : { audience }),
        },
      }
    },
  },
  gitlab: {
    title: 'GitLab CI',
    jobs: 'pipelines of a GitLab project',
    fields: [
      { name: 'project', flag: '--project-path', label: 'Project path', example: 'acme/app' },
      {
        name: 'refType',
        flag: '--ref-type',
        label: 'Type of ref',
        example: 'branch',
        choices: ['branch', 'tag'],
        default: 'branch',
      },
      {
        name: 'ref',
        flag: '--ref',
        label: 'Branch or tag',
        example: 'main',
        hint: 'Empty: any.',
        isOptional: true,
      },
      { name: 'url', flag: '--gitlab-url', label: 'GitLab server', example: GITLAB_URL, default: GITLAB_URL },
    ],
    rule(value) {
      const prefix = `project_path:${value('project')}:ref_type:${value('refType')}:ref:`
      const ref = value('ref')
      return {
        claimMatch: {
          issuer: value('url').replace(/\/$/, ''),
          ...anyOr(prefix + ref, ref !== '', `${escapePattern(prefix)}.+`),
        },
      }
    },
  },
  buildkite: {
    title: 'Buildkite',
    jobs: 'steps of a Buildkite pipeline',
    fields: [
      {
        name: 'pipeline',
        flag: '--pipeline',
        label: 'Pipeline',
        example: 'acme/app',
        hint: 'Organization and pipeline',
      },
      {
        name: 'branch',
        flag: '--branch',
        label: 'Branch',
        example: 'main',
        hint: 'Branch that the pipeline runs on. Empty: any.',
        isOptional: true,
      },
    ],
    check(name, value) {
      if (name !== 'pipeline') return undefined
      const [organization, pipeline, ...rest] = value.split('/')
      return organization && pipeline && rest.length === 0 ? undefined : 'must be ORGANIZATION/PIPELINE'
    },
    rule(value) {
      const [organization, name] = value('pipeline').split('/')
      const branch = value('branch')
      const prefix = escapePattern(`organization:${organization}:pipeline:${name}:ref:refs/heads/${branch}`)
      return {
        claimMatch: {
          issuer: BUILDKITE_ISSUER,
          subjectPattern: `${prefix}${branch === '' ? '.+' : ''}:commit:[0-9a-f]+:step:.*`,
        },
      }
    },
  },
  kubernetes: {
    title: 'Kubernetes',
    jobs: 'pods with a Kubernetes service account',
    fields: [
      {
        name: 'serviceAccount',
        flag: '--service-account',
        label: 'Service account',
        example: 'production/app',
        hint: 'Namespace and name',
      },
      {
        name: 'clusterIssuer',
        flag: '--cluster-issuer',
        label: 'Issuer of the cluster',
        example: 'https://oidc.example.com/cluster',
        hint: 'kubectl get --raw /.well-known/openid-configuration',
      },
    ],
    check: (name, value) =>
      name === 'serviceAccount' && !/^[a-z0-9-]+\/[a-z0-9.-]+$/.test(value)
        ? 'must be NAMESPACE/NAME'
        : undefined,
    rule: (value) => ({
      claimMatch: {
        issuer: value('clusterIssuer'),
        subject: `system:serviceaccount:${value('serviceAccount').replace('/', ':')}`,
      },
    }),
  },
  'aws-role': {
    title: 'AWS role',
    jobs: 'an AWS role',
    fields: awsFields('role', 'AROAEXAMPLEID'),
    check: checkAws,
    rule: (value) => ({
      awsIdentity: {
        awsAccount: value('account'),
        arnPattern: `arn:${value('partition')}:sts::${value('account')}:assumed-role/${escapePattern(value('name'))}/(.+)`,
        userIdPattern: `${escapePattern(value('id'))}:(.+)`,
      },
    }),
  },
  'aws-user': {
    title: 'AWS user',
    jobs: 'an AWS user',
    fields: awsFields('user', 'AIDAEXAMPLEID'),
    check: checkAws,
    rule: (value) => ({
      awsIdentity: {
        awsAccount: value('account'),
        arn: `arn:${value('partition')}:iam::${value('account')}:user/${value('name')}`,
        userId: value('id'),
      },
    }),
  },
} as const satisfies Readonly<Record<string, Platform>>

export type PlatformName = keyof typeof platforms

/** The problem of a field that has no value and no default. */
export const MISSING = 'is required'

export type PlatformRule =
  | { readonly rule: Rule }
  /** Why fields are invalid, by their names; in the order of the fields. */
  | { readonly problems: Readonly<Record<string, string>> }

/** Returns the rule that accepts the tokens of the jobs that the values describe. */
export function platformRule(name: PlatformName, values: FieldValues): PlatformRule {
  const { fields, check, rule }: Platform = platforms[name]
  const problems: Record<string, string> = {}
  const known = Object.fromEntries(
    fields.map((field) => [field.name, values[field.name] || (field.default ?? '')]),
  )
  for (const { name: field, isOptional, choices } of fields) {
    const value = known[field] ?? ''
    const problem =
      value === '' && isOptional !== true
        ? MISSING
        : choices !== undefined && !choices.includes(value)
          ? `must be one of ${choices.join(', ')}`
          : check?.(field, value, known)
    if (problem !== undefined) problems[field] = problem
  }
  return Object.keys(problems).length > 0 ? { problems } : { rule: rule((field) => known[field] ?? '') }
}
