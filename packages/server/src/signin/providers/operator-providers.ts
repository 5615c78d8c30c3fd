import { isOidcScope } from '../../iam/identity-providers/oidc-configuration.ts'
import { checkIssuer } from '../../tokens/trust/issuer-url.ts'

/** An OpenID provider that the operator offers to all users, from a file of the configuration. */
export interface OperatorProvider {
  /** Its name in addresses and in `connection` of the public SDK, such as `google-oauth2`. */
  readonly name: string
  /** Text of its button: `Sign in with <label>`. */
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  /** '' for a public client. */
  readonly clientSecret: string
  /** Requested in addition to `openid`. */
  readonly scopes: readonly string[]
  /** Uses PKCE also with a provider whose metadata does not name it. */
  readonly requirePkce: boolean
}

const members = ['name', 'label', 'issuer', 'clientId', 'clientSecret', 'scopes'] as const
const DEFAULT_SCOPES = ['email', 'profile']

/**
 * Parses the file: a JSON array of `{"name", "issuer", "clientId"}` with optional `label`, `clientSecret` and `scopes` (default: email and
 * profile). Returns the providers, or all problems as text.
 */
export function parseOperatorProviders(
  text: string,
): { readonly providers: readonly OperatorProvider[] } | { readonly problems: readonly string[] } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { problems: [`it is not JSON: ${(error as Error).message}`] }
  }
  if (!Array.isArray(value)) return { problems: ['it must be a JSON array of providers'] }
  const read = value.map((entry, at) => parseProvider(entry, `[${at}]`))
  const problems = read.flatMap((one) => ('problems' in one ? one.problems : []))
  const providers = read.flatMap((one) => ('provider' in one ? [one.provider] : []))
  const duplicate = providers.find(({ name }, at) => providers.findIndex((other) => other.name === name) < at)
  if (duplicate !== undefined) problems.push(`two providers have the name ${JSON.stringify(duplicate.name)}`)
  return problems.length > 0 ? { problems } : { providers }
}

function parseProvider(
  entry: unknown,
  where: string,
): { readonly provider: OperatorProvider } | { readonly problems: string[] } {
  if (typeof entry !== 'object' || entry === null) return { problems: [`${where} must be an object`] }
  const fields = entry as Readonly<Record<string, unknown>>
  const problems = Object.keys(fields)
    .filter((name) => !members.some((member) => member === name))
    .map((name) => `${where}.${name} is unknown; a provider has ${members.join(', ')}`)
  const text = (name: (typeof members)[number]) => {
    const value = fields[name] ?? ''
    if (typeof value === 'string') return value
    problems.push(`${where}.${name} must be text`)
    return ''
  }
  const name = text('name')
  const issuer = text('issuer')
  const clientId = text('clientId')
  const label = text('label')
  const clientSecret = text('clientSecret')
  const scopes = fields['scopes'] ?? DEFAULT_SCOPES
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
    problems.push(`${where}.name must contain only lowercase letters, digits and hyphens`)
  const badIssuer = issuer === '' ? 'is required' : checkIssuer(issuer)
  if (badIssuer !== undefined) problems.push(`${where}.issuer ${badIssuer}`)
  if (clientId === '') problems.push(`${where}.clientId is required`)
  if (!isScopes(scopes)) problems.push(`${where}.scopes must be an array of OAuth scopes`)
  if (problems.length > 0) return { problems }
  return {
    provider: {
      name,
      label: label || name,
      issuer,
      clientId,
      clientSecret,
      scopes: scopes as readonly string[],
      requirePkce: false,
    },
  }
}

function isScopes(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((scope) => typeof scope === 'string' && isOidcScope(scope))
}
