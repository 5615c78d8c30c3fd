import { type CapabilitySet, capabilityByName, capabilitySetOf } from '@berth/contract/capabilities.ts'
import { type FieldViolation, invalidArgument } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'

/** What an access token is asked to be for, and how it is to be narrowed. */
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

/** Throws code 3 with everything that is wrong with the request, `more` included. */
export function readTokenRequest(
  request: TokenParameters,
  allowedAudiences: readonly string[],
  ...more: readonly (FieldViolation | undefined)[]
): RequestedToken {
  // Clients join several audiences with a comma (contract of the browser flow) as well as repeating the parameter.
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

/** Scopes are in the token, which must fit into a header. Throws code 3. */
export function requireUsableLength(token: string): void {
  if (token.length > limits.bearerTokenCharsMax)
    throw invalidArgument('scopes', 'must be fewer: the token would be too long to be used')
}

/** The allowed audience that is meant: a slash at the end makes no other address. */
export function findAudience(allowed: readonly string[], asked: string): string | undefined {
  return allowed.find((one) => withoutSlash(one) === withoutSlash(asked))
}

function withoutSlash(address: string): string {
  return address.endsWith('/') ? address.slice(0, -1) : address
}
