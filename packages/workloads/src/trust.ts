import type { Identity } from '@berth/client/berth.ts'
import { identityKind } from './identity-kinds.ts'
import { unescapePattern } from './patterns.ts'
import { BUILDKITE_ISSUER, GITHUB_ISSUER, type PlatformName } from './platforms.ts'

/** What an identity trusts, in words: the reverse of the rules of platforms. */

export interface Trust {
  /** The platform, if the rule is one that `platformRule` returns. */
  readonly platform: PlatformName | undefined
  /** `GitHub`, `acme/app`, `branch main`. */
  readonly words: readonly string[]
}

const GITHUB = /^repo:([^:]+):ref:(.+)$/
const GITLAB = /^project_path:([^:]+):ref_type:(branch|tag):ref:(.+)$/
const BUILDKITE =
  /^organization:([^:]+):pipeline:([^:]+):ref:refs\/heads\/(.+):commit:\[0-9a-f\]\+:step:\.\*$/
const KUBERNETES = /^system:serviceaccount:([^:]+):(.+)$/
const AWS_ROLE = /^arn:[a-z-]+:sts::\d+:assumed-role\/([^/]+)\/\(\.\+\)$/
const AWS_USER = /^arn:[a-z-]+:iam::\d+:user\/(.+)$/

const hostOf = (url: string) => url.replace(/^https?:\/\//, '')

function refWords(ref: string): string {
  if (ref === 'refs/(heads|tags)/.+') return 'any branch or tag'
  const [, type, name = ''] = /^refs\/(heads|tags)\/(.+)$/.exec(ref) ?? []
  if (type === undefined) return `ref ${ref}`
  return `${type === 'heads' ? 'branch' : 'tag'} ${name}`
}

/** Describes who can assume an identity. */
export function describeTrust(identity: Identity): Trust {
  const { claimMatch, staticKeys, awsIdentity, servicePrincipal } = identity
  if (claimMatch !== undefined) return claimTrust(claimMatch)
  if (staticKeys !== undefined)
    return identityKind(identity) === 'pull_token'
      ? { platform: undefined, words: ['Pull token'] }
      : { platform: undefined, words: ['Static keys', hostOf(staticKeys.issuer), staticKeys.subject] }
  if (awsIdentity !== undefined) return awsTrust(awsIdentity)
  if (servicePrincipal !== undefined) {
    const name = servicePrincipal.replace(/^SERVICE_PRINCIPAL_/, '').toLowerCase()
    return { platform: undefined, words: ['Service of the platform', name.replaceAll('_', ' ')] }
  }
  return { platform: undefined, words: ['Sign-in of a user'] }
}

function claimTrust({
  issuer,
  issuerPattern,
  subject,
  subjectPattern,
}: NonNullable<Identity['claimMatch']>): Trust {
  const isPattern = subject === undefined
  const text = subject ?? subjectPattern ?? ''
  const plain = isPattern ? unescapePattern : (value: string) => value
  if (issuer === GITHUB_ISSUER) {
    const [, repo, ref] = GITHUB.exec(text) ?? []
    if (repo !== undefined && ref !== undefined)
      return { platform: 'github', words: ['GitHub', plain(repo), refWords(ref)] }
    return { platform: 'github', words: ['GitHub', text] }
  }
  const [, project, type, ref] = GITLAB.exec(text) ?? []
  if (issuer !== undefined && project !== undefined && type !== undefined && ref !== undefined) {
    const server = issuer === 'https://gitlab.com' ? 'GitLab' : `GitLab at ${hostOf(issuer)}`
    const refs = isPattern && ref === '.+' ? `any ${type}` : `${type} ${ref}`
    return { platform: 'gitlab', words: [server, plain(project), refs] }
  }
  if (issuer === BUILDKITE_ISSUER) {
    const [, organization, pipeline, branch] = BUILDKITE.exec(text) ?? []
    if (organization !== undefined && pipeline !== undefined && branch !== undefined)
      return {
        platform: 'buildkite',
        words: [
          'Buildkite',
          plain(`${organization}/${pipeline}`),
          branch === '.+' ? 'any branch' : `branch ${plain(branch)}`,
        ],
      }
    return { platform: 'buildkite', words: ['Buildkite', text] }
  }
  const [, namespace, account] = KUBERNETES.exec(text) ?? []
  if (issuer !== undefined && namespace !== undefined && !isPattern)
    return {
      platform: 'kubernetes',
      words: [`Kubernetes at ${hostOf(issuer)}`, `service account ${namespace}/${account}`],
    }
  return {
    platform: undefined,
    words: [
      issuer === undefined ? `issuers that match ${issuerPattern ?? ''}` : hostOf(issuer),
      isPattern ? `subjects that match ${text}` : text,
    ],
  }
}

function awsTrust({ awsAccount, arn, arnPattern }: NonNullable<Identity['awsIdentity']>): Trust {
  const account = `AWS account ${awsAccount}`
  const [, role] = AWS_ROLE.exec(arnPattern ?? '') ?? []
  if (role !== undefined) return { platform: 'aws-role', words: [account, `role ${unescapePattern(role)}`] }
  const [, user] = AWS_USER.exec(arn ?? '') ?? []
  if (user !== undefined) return { platform: 'aws-user', words: [account, `user ${user}`] }
  return { platform: undefined, words: [account, arn ?? `ARNs that match ${arnPattern ?? ''}`] }
}
