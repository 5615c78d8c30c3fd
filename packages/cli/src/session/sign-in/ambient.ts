import { existsSync, readFileSync } from 'node:fs'
import type { Environment } from '../../config/settings.ts'
import { CommandFailed, errorMessage, parseJsonOrMessage, toUnreachable } from '../access-token.ts'
import { request } from '../http.ts'
import type { AwsService } from './aws-identity.ts'

/** Finds the token that a CI system, a cluster or a cloud provides to its workloads. */

/** Returns a token for the token service from the first available source; undefined if there is none. Rejects if the source fails. */
export async function findAmbientToken(
  env: Environment,
  issuer: string,
  identity: string,
): Promise<string | undefined> {
  for (const source of [gitHubActions, gitLab, buildkite, kubernetes, aws]) {
    const token = await source(env, issuer, identity)
    if (token !== undefined) return token
  }
  return undefined
}

type Source = (env: Environment, issuer: string, identity: string) => Promise<string | undefined>

/** https://docs.github.com/actions/security-for-github-actions: needs `permissions: id-token: write`. */
const gitHubActions: Source = async (env, issuer) => {
  const url = env['ACTIONS_ID_TOKEN_REQUEST_URL']
  const bearer = env['ACTIONS_ID_TOKEN_REQUEST_TOKEN']
  if (!url || !bearer) {
    if (env['GITHUB_ACTIONS'] === 'true')
      process.stderr.write(
        "GitHub provides no token to this job: add 'permissions: id-token: write' to the workflow.\n",
      )
    return undefined
  }
  const asked = new URL(url)
  asked.searchParams.set('audience', issuer)
  const response = await request(asked, { headers: { authorization: `Bearer ${bearer}` } }).catch(
    (error: unknown) => {
      throw toUnreachable(url, error)
    },
  )
  const body = parseJsonOrMessage(await response.text())
  const { value } = body as { readonly value?: string }
  if (!response.ok || !value)
    throw new CommandFailed(
      `GitHub returned no token (HTTP status ${response.status}): ${errorMessage(body)}`,
    )
  return value
}

/** GitLab sets the variable that `id_tokens:` of the job names. */
const gitLab: Source = async (env) => env['BERTH_ID_TOKEN'] || undefined

/** The Buildkite agent issues a token on request. */
const buildkite: Source = async (env, issuer) => {
  if (!env['BUILDKITE_AGENT_ACCESS_TOKEN']) return undefined
  const { execFile } = await import('node:child_process')
  return new Promise((resolve, reject) => {
    execFile(
      'buildkite-agent',
      ['oidc', 'request-token', '--audience', issuer],
      { env: { ...env } },
      (error, stdout, stderr) =>
        error === null
          ? resolve(stdout.trim())
          : reject(new CommandFailed(`buildkite-agent returned no token: ${stderr.trim() || error.message}`)),
    )
  })
}

/** A projected service account token. */
const KUBERNETES_FILE = '/var/run/secrets/tokens/berth'

const kubernetes: Source = async () =>
  existsSync(KUBERNETES_FILE) ? readFileSync(KUBERNETES_FILE, 'utf8').trim() : undefined

/** Reads Amazon's variables for partitions and regions with their own token service. */
function awsServiceOf(env: Environment): AwsService | undefined {
  const endpoint = env['AWS_ENDPOINT_URL_STS'] ?? ''
  if (!URL.canParse(endpoint)) return undefined
  return { host: new URL(endpoint).hostname, region: env['AWS_REGION'] || 'us-east-1' }
}

const aws: Source = async (env, issuer, identity) => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  if (!accessKeyId || !secretAccessKey) return undefined
  const { signCallerIdentity } = await import('./aws-identity.ts')
  const sessionToken = env['AWS_SESSION_TOKEN']
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
  return signCallerIdentity(credentials, issuer, identity, awsServiceOf(env))
}
