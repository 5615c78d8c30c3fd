import { type CapabilitySet, capabilityByName, capabilitySetOf } from '@berth/contract/capabilities.ts'
import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'

/** The requested audiences and narrowing of an access token. */
export interface RequestedToken {
  readonly audiences: readonly string[]
  readonly scopes?: readonly string[]
  readonly capabilities?: CapabilitySet
}

interface TokenParameters {
  readonly aud: readonly string[]
  readonly scope: string
  readonly scopes: readonly string[]
  readonly cap: readonly string[]
}

/** Reads a token request. Throws code 3 with all violations, including `more`. */
export function readTokenRequest(
  request: TokenParameters,
  allowedAudiences: readonly string[],
  ...more: readonly (FieldViolation | undefined)[]
): RequestedToken {
  // Clients either repeat the parameter or join audiences with a comma (contract of the browser flow).
  const audiences = request.aud
    .flatMap((text) => text.split(','))
    .filter((text) => text !== '')
    .map((text) => findAudience(allowedAudiences, text))
  const scopes = [...new Set([request.scope, ...request.scopes].filter((scope) => scope !== ''))]
  const capabilities = request.cap.map((name) => ({ name, capability: capabilityByName(name) }))
  requireValid(
    audiences.length === 0 ? { field: 'aud', description: 'must name the audience of the token' } : undefined,
    audiences.includes(undefined)
      ? { field: 'aud', description: `must be among ${allowedAudiences.join(', ')}` }
      : undefined,
    ...scopes.map((scope) =>
      parseUid(scope) === undefined ? { field: 'scopes', description: 'must be uids of groups' } : undefined,
    ),
    ...capabilities.map(({ name, capability }) =>
      capability === undefined
        ? { field: 'cap', description: `${JSON.stringify(name)} is not a capability` }
        : undefined,
    ),
    ...more,
  )
  return {
    audiences: [...new Set(audiences)] as string[],
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(capabilities.length === 0
      ? {}
      : { capabilities: capabilitySetOf(capabilities.flatMap(({ capability }) => capability ?? [])) }),
  }
}

/** Throws code 3 for a token that is too long for a header, because of its scopes. */
export function requireUsableLength(token: string): void {
  if (token.length > limits.bearerTokenCharsMax)
    throw invalidArgument('scopes', 'must be fewer: the token would be too long')
}

/** Finds an allowed audience, ignoring a trailing slash. */
export function findAudience(allowed: readonly string[], requested: string): string | undefined {
  return allowed.find((one) => withoutSlash(one) === withoutSlash(requested))
}

function withoutSlash(address: string): string {
  return address.endsWith('/') ? address.slice(0, -1) : address
}
