import { isOidcScope } from '../../iam/identity-providers/oidc-configuration.ts'
import { checkIssuer } from '../../tokens/trust/issuer-url.ts'

/** The OpenID providers that the operator offers to everybody, from a file of the configuration. */
export interface OperatorProvider {
  /** Names it in addresses and in `connection` of the public SDK: `google-oauth2`. */
  readonly name: string
  /** What its button says: `Sign in with <label>`. */
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  /** '' for a client without one. */
  readonly clientSecret: string
  /** Asked for besides `openid`. */
  readonly scopes: readonly string[]
  /** Proof keys are sent also to a provider that does not say that it takes them. */
  readonly requirePkce: boolean
}

const members = ['name', 'label', 'issuer', 'clientId', 'clientSecret', 'scopes'] as const
const DEFAULT_SCOPES = ['email', 'profile']

/**
 * Reads the file: a JSON array of `{"name", "issuer", "clientId"}` with `label`, `clientSecret` and `scopes` (default email and
 * profile) where they are needed. Returns the providers, or every mistake as a sentence.
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
  const given = entry as Readonly<Record<string, unknown>>
  const problems = Object.keys(given)
    .filter((name) => !members.some((member) => member === name))
    .map((name) => `${where}.${name} is not known; a provider has ${members.join(', ')}`)
  const text = (name: (typeof members)[number]) => {
    const value = given[name] ?? ''
    if (typeof value === 'string') return value
    problems.push(`${where}.${name} must be text`)
    return ''
  }
  const name = text('name')
  const issuer = text('issuer')
  const clientId = text('clientId')
  const label = text('label')
  const clientSecret = text('clientSecret')
  const scopes = given['scopes'] ?? DEFAULT_SCOPES
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(name))
    problems.push(`${where}.name must be lower-case letters, digits and hyphens`)
  const badIssuer = issuer === '' ? 'must be given' : checkIssuer(issuer)
  if (badIssuer !== undefined) problems.push(`${where}.issuer ${badIssuer}`)
  if (clientId === '') problems.push(`${where}.clientId must be given`)
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
