import { readFileSync } from 'node:fs'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { getRegistryToken } from '../../session/credentials/credential-helper.ts'
import { exchangeToken } from '../../session/sign-in/workload.ts'
import { decodeClaims, remainingMs } from '../../session/token-cache.ts'

/**
 * Credential provider of the kubelet (credentialprovider.kubelet.k8s.io/v1): exchanges the token of a pod's service account for a
 * registry token, so that the cluster stores no pull secret.
 */

interface CredentialRequest {
  readonly apiVersion?: string
  readonly kind?: string
  readonly image?: string
  readonly serviceAccountToken?: string
  readonly serviceAccountAnnotations?: Readonly<Record<string, string>>
}

/** Annotation of a service account: the identity that its pods pull as. */
const ANNOTATION = 'berth.dev/identity'
const MARGIN_SECONDS = 60

export async function provideCredentials(invocation: AuthInvocation): Promise<void> {
  const { settings, env } = invocation
  const request = parseRequest(readFileSync(0, 'utf8'))
  const host = (request.image ?? '').split('/')[0] ?? ''
  const isOwnRegistry = host === settings.registry
  const secret = !isOwnRegistry
    ? undefined
    : request.serviceAccountToken === undefined
      ? await getRegistryToken(settings, env)
      : await exchangeServiceAccountToken(invocation, request)
  const seconds = Math.max(0, Math.floor(remainingMs(secret) / 1000) - MARGIN_SECONDS)
  const response = {
    apiVersion: request.apiVersion ?? 'credentialprovider.kubelet.k8s.io/v1',
    kind: 'CredentialProviderResponse',
    // Pods with different service accounts must not share credentials.
    cacheKeyType: 'Image',
    cacheDuration: `${seconds}s`,
    auth: secret === undefined ? {} : { [settings.registry]: { username: '_token', password: secret } },
  }
  process.stdout.write(`${JSON.stringify(response)}\n`)
}

function parseRequest(text: string): CredentialRequest {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new UsageError(
      'standard input must be a CredentialProviderRequest in JSON, as the kubelet sends it',
    )
  }
  const request = value as CredentialRequest
  if (request.kind !== 'CredentialProviderRequest' || typeof request.image !== 'string')
    throw new UsageError('standard input must be a CredentialProviderRequest with an image')
  return request
}

async function exchangeServiceAccountToken(
  invocation: AuthInvocation,
  { serviceAccountToken = '', serviceAccountAnnotations = {} }: CredentialRequest,
): Promise<string> {
  const { settings } = invocation
  const identity = serviceAccountAnnotations[ANNOTATION] || invocation.option('identity')
  if (identity === '')
    throw new UsageError(`--identity is required, or the annotation ${ANNOTATION} on the service account`)
  try {
    return await exchangeToken(settings, serviceAccountToken, settings.registry, { identity })
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    const subject = String(decodeClaims(serviceAccountToken)['sub'])
    throw new CommandFailed(`${error.message} (token subject: ${subject})`, { cause: error })
  }
}
