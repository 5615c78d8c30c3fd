import {
  IdentityProvider_Callback as Callback,
  IdentityProvider_OIDC_CorrelationRule as CorrelationRule,
  type IdentityProvider,
  type IdentityProvider_OIDC,
  IdentityProvider_OIDCSchema,
  IdentityProviderSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { create } from '@bufbuild/protobuf'
import type { FieldViolation } from '../../api/errors.ts'
import { resolveMask } from '../../api/field-mask.ts'
import { applyUpdate } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import { isOwnIssuer } from '../../tokens/trust/issuer-url.ts'
import { checkIssuerUrl, type RelationshipRules } from '../../tokens/trust/relationship.ts'

/** The settings with which users sign in through an identity provider: their validation and their updates. Pure. */

type Violation = FieldViolation | undefined

/** The settings of a provider. Every stored provider has them. */
export function oidcOf({ configuration }: Pick<IdentityProvider, 'configuration'>): IdentityProvider_OIDC {
  return configuration.value ?? create(IdentityProvider_OIDCSchema)
}

/** The provider without its secret, as it is stored and shown. */
export function withoutSecret(provider: IdentityProvider): IdentityProvider {
  return withOidc(provider, { clientSecret: '' })
}

function withOidc(provider: IdentityProvider, changed: Partial<IdentityProvider_OIDC>): IdentityProvider {
  const { configuration } = provider
  if (configuration.case === undefined) return provider
  return { ...provider, configuration: { ...configuration, value: { ...configuration.value, ...changed } } }
}

/** The result of an update of a provider. */
interface ProviderChange {
  /** Without its secret. */
  readonly next: IdentityProvider
  /** The new secret; '' removes the stored one, undefined keeps it. */
  readonly secret: string | undefined
}

/**
 * Applies an update to a provider; the result is not validated yet. An empty secret and an empty correlation rule keep the stored values,
 * unless the mask names exactly them: clients that send back what they read cannot send the secret. Throws code 3 for an invalid mask.
 */
export function providerChange(
  current: IdentityProvider,
  patch: IdentityProvider,
  paths: readonly string[] | undefined,
): ProviderChange {
  const next = applyUpdate(IdentityProviderSchema, current, patch, paths)
  const resolved = resolveMask(IdentityProviderSchema, paths, patch)
  const names = (path: string) => 'mask' in resolved && resolved.mask.paths.includes(path)
  const { clientSecret, correlationRule } = oidcOf(next)
  const stored = oidcOf(current).correlationRule
  const isRuleUnchanged =
    effectiveRule(correlationRule) === effectiveRule(stored) ||
    (correlationRule === CorrelationRule.UNSPECIFIED && !names('oidc.correlation_rule'))
  const callback = next.callback === Callback.UNSPECIFIED ? current.callback : next.callback
  return {
    next: {
      ...withOidc(next, { clientSecret: '', ...(isRuleUnchanged ? { correlationRule: stored } : {}) }),
      callback,
    },
    secret: clientSecret !== '' || names('oidc.client_secret') ? clientSecret : undefined,
  }
}

function effectiveRule(rule: CorrelationRule): CorrelationRule {
  return rule === CorrelationRule.UNSPECIFIED ? CorrelationRule.SUB_EQUALS_EXTERNAL_ID : rule
}

/** Whether a change from `before` to `after` enables proof keys, or changes the issuer that they are enabled for. */
export function enablesPkce(before: IdentityProvider_OIDC, after: IdentityProvider_OIDC): boolean {
  return after.pkceEnabled && !(before.pkceEnabled && before.issuer === after.issuer)
}

/** What validation needs besides the new settings. */
interface ConfigurationContext {
  /** The previous settings; undefined for a new provider. */
  readonly before?: IdentityProvider_OIDC
  /** The secret that was sent, '' if none was. */
  readonly secret: string
  /** Whether the provider has a secret afterwards. */
  readonly hasSecret: boolean
}

/** Returns every violation in a provider's settings, with fields relative to the provider. */
export function checkConfiguration(
  provider: IdentityProvider,
  { before, secret, hasSecret }: ConfigurationContext,
  rules: RelationshipRules & { readonly authUrl: string },
): Violation[] {
  if (provider.configuration.case === undefined) return [{ field: 'oidc', description: 'is required' }]
  const { issuer, clientId, additionalScopes, groupsClaim, correlationRule, pkceEnabled } =
    provider.configuration.value
  return [
    checkIssuerUrl('oidc.issuer', issuer, rules) ?? checkOtherIssuer(issuer, rules.authUrl),
    clientId.trim() === ''
      ? { field: 'oidc.clientId', description: 'is required' }
      : checkPrintable('oidc.clientId', clientId, limits.oidcClientIdCharsMax),
    hasSecret || pkceEnabled
      ? checkPrintable('oidc.clientSecret', secret, limits.oidcClientSecretCharsMax)
      : { field: 'oidc.clientSecret', description: 'is required unless pkceEnabled is true' },
    ...checkScopes(additionalScopes),
    checkText('oidc.groupsClaim', groupsClaim, limits.claimNameCharsMax),
    checkRule(correlationRule, before?.correlationRule),
  ]
}

/** Tokens of this server identify their user already; as tokens of a provider they would vouch for local accounts. */
function checkOtherIssuer(issuer: string, authUrl: string): Violation {
  return isOwnIssuer(issuer, authUrl)
    ? { field: 'oidc.issuer', description: 'must not be this server' }
    : undefined
}

/** The rule that matches sign-ins with accounts cannot change after it is set. */
function checkRule(rule: CorrelationRule, before: CorrelationRule | undefined): Violation {
  const field = 'oidc.correlationRule'
  if (before !== undefined && rule !== before) return { field, description: 'cannot be changed' }
  return CorrelationRule[rule] === undefined
    ? { field, description: `${rule} is not a correlation rule` }
    : undefined
}

/** A scope token of RFC 6749, section 3.3. */
const scopePattern = /^[\x21\x23-\x5b\x5d-\x7e]+$/

export function isOidcScope(scope: string): boolean {
  return scopePattern.test(scope)
}

function checkScopes(scopes: readonly string[]): Violation[] {
  const field = 'oidc.additionalScopes'
  if (scopes.length > limits.oidcScopesMax)
    return [{ field, description: `must have at most ${limits.oidcScopesMax} values` }]
  return scopes.map((scope, at) => {
    const violation = (description: string) => ({ field: `${field}[${at}]`, description })
    if (!isOidcScope(scope))
      return violation('must be printable ASCII characters without blanks, quotation marks and backslashes')
    if (scope.length > limits.oidcScopeCharsMax)
      return violation(`must have at most ${limits.oidcScopeCharsMax} characters`)
    return scopes.indexOf(scope) < at ? violation('is repeated') : undefined
  })
}

/** Client identifiers and secrets (RFC 6749, appendix A): detects a line end that was copied with a secret. */
function checkPrintable(field: string, value: string, charsMax: number): Violation {
  if (value.length > charsMax) return { field, description: `must have at most ${charsMax} characters` }
  return /^[\x20-\x7e]*$/.test(value)
    ? undefined
    : { field, description: 'must be printable ASCII characters' }
}

/** A name that the identity provider assigned. */
export function checkText(field: string, value: string, charsMax: number): Violation {
  if (value.length > charsMax) return { field, description: `must have at most ${charsMax} characters` }
  return /\p{Cc}/u.test(value) ? { field, description: 'must not contain control characters' } : undefined
}
