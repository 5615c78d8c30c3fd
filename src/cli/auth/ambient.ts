import { createHash, createHmac } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import type { Environment } from '../client/settings.ts'

/** Tokens that a CI system, a cluster or a cloud gives to what runs there. */

/** The first one that is found, for the token service as audience; undefined where there is none. */
export async function ambientToken(
  env: Environment,
  issuer: string,
  identity: string,
): Promise<string | undefined> {
  for (const source of [gitHubActions, gitLab, buildkite, kubernetes, amazon]) {
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
  if (!url || !bearer) return undefined
  const asked = new URL(url)
  asked.searchParams.set('audience', issuer)
  const response = await fetch(asked, { headers: { authorization: `Bearer ${bearer}` }, redirect: 'error' })
  if (!response.ok) return undefined
  const { value } = (await response.json()) as { readonly value?: string }
  return value
}

/** GitLab gives what `id_tokens:` names in a variable of the job; ours is BERTH_ID_TOKEN. */
const gitLab: Source = async (env) => env['BERTH_ID_TOKEN'] || undefined

/** The agent of a Buildkite job makes one when it is asked. */
const buildkite: Source = async (env, issuer) => {
  if (!env['BUILDKITE_AGENT_ACCESS_TOKEN']) return undefined
  const { execFile } = await import('node:child_process')
  return new Promise((resolve) => {
    execFile('buildkite-agent', ['oidc', 'request-token', '--audience', issuer], (error, stdout) =>
      resolve(error === null ? stdout.trim() : undefined),
    )
  })
}

/** A projected service account token. */
const KUBERNETES_FILE = '/var/run/secrets/tokens/berth'

const kubernetes: Source = async () =>
  existsSync(KUBERNETES_FILE) ? readFileSync(KUBERNETES_FILE, 'utf8').trim() : undefined

const amazon: Source = async (env, issuer, identity) => {
  const key = env['AWS_ACCESS_KEY_ID']
  const secret = env['AWS_SECRET_ACCESS_KEY']
  if (!key || !secret) return undefined
  return signedCallerIdentity({ key, secret, session: env['AWS_SESSION_TOKEN'] ?? '' }, issuer, identity)
}

interface AwsCredentials {
  readonly key: string
  readonly secret: string
  /** '' for credentials that do not expire. */
  readonly session: string
}

const HOST = 'sts.amazonaws.com'
const SCOPE = 'us-east-1/sts/aws4_request'

/**
 * A request that asks Amazon's token service who is asking, signed (Signature Version 4) but not sent: the token service of Berth
 * sends it. The signature covers for whom it is meant and which identity is to be assumed.
 */
function signedCallerIdentity(
  { key, secret, session }: AwsCredentials,
  issuer: string,
  identity: string,
  now = new Date(),
): string {
  const date = now.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const day = date.slice(0, 8)
  const headers: [name: string, value: string][] = [
    ['accept', 'application/json'],
    ['chainguard-audience', issuer],
    ['chainguard-identity', identity],
    ['host', HOST],
    ['x-amz-date', date],
    ...(session === '' ? [] : [['x-amz-security-token', session] as [string, string]]),
  ]
  const query = 'Action=GetCallerIdentity&Version=2011-06-15'
  const signed = headers.map(([name]) => name).join(';')
  const canonical = [
    'POST',
    '/',
    query,
    ...headers.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    signed,
    sha256(''),
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, `${day}/${SCOPE}`, sha256(canonical)].join('\n')
  const signing = [day, ...SCOPE.split('/')].reduce<Buffer>(
    (keySoFar, part) => createHmac('sha256', keySoFar).update(part).digest(),
    Buffer.from(`AWS4${secret}`),
  )
  const signature = createHmac('sha256', signing).update(text).digest('hex')
  const authorization = `AWS4-HMAC-SHA256 Credential=${key}/${day}/${SCOPE}, SignedHeaders=${signed}, Signature=${signature}`
  const lines = [
    `POST /?${query} HTTP/1.1`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    `authorization: ${authorization}`,
    'content-length: 0',
    '',
    '',
  ]
  const bytes = Buffer.from(lines.join('\r\n'))
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
