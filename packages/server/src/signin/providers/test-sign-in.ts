import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { html } from 'hono/html'
import { invalidArgument } from '../../api/errors.ts'
import { parseUid, rootOf } from '../../api/uid.ts'
import { lookupUser } from '../../iam/identities/user-lookup.ts'
import { requireCapabilities } from '../../pipeline/authorization.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Session } from '../../tokens/sessions/sessions.ts'
import type { SignInContext } from '../context.ts'
import { continuePage } from '../pages/continue-page.ts'
import { type Html, page } from '../pages/layout.ts'
import { SignInRequired } from '../pages/page-operation.ts'
import type { Provider } from './providers.ts'
import { type AuthorizationChecks, type Claims, checkResponseIssuer, UpstreamError } from './upstream.ts'

/**
 * A test of an organization's provider: a sign-in with all its checks that registers no user and starts no session. The page at its end
 * reports each step, up to the first that fails.
 */

interface TestStep {
  readonly title: string
  readonly text: string
  readonly isProblem?: boolean
}

const testCapabilities = capabilitySetOf([Capability.CAP_IAM_IDENTITY_PROVIDERS_UPDATE])

/**
 * Throws code 7 unless a user may change the provider. The report shows which groups are mapped, and a provider decides where a browser
 * that visits it is sent.
 */
export async function requireTester(
  { readGrants }: Pick<SignInContext, 'readGrants'>,
  { id: session, identity }: Session,
  provider: string,
): Promise<void> {
  const uid = parseUid(provider)
  if (uid === undefined) throw invalidArgument('with', 'must be the uid of an identity provider')
  const grants = await readGrants({ identity, session, scopes: undefined, capabilities: undefined })
  if (grants === undefined) throw new SignInRequired()
  requireCapabilities(grants, uid, testCapabilities, 'test the identity provider')
}

/** Renders the page before a test: a link of another site must not send a signed-in browser to a provider. */
export function testPage(provider: Provider, href: string): Html {
  return continuePage(
    `Test the sign-in with ${provider.label}?`,
    `You continue at ${new URL(provider.issuer).host}. You stay signed in as you are, and no user is registered.`,
    href,
  )
}

/** What the test found, as a page. */
function reportPage(provider: Provider, steps: readonly TestStep[]): Html {
  const hasFailed = steps.some(({ isProblem }) => isProblem === true)
  const heading = hasFailed ? `Sign-in with ${provider.label} fails` : `Sign-in with ${provider.label} works`
  return page(
    { title: heading },
    html`<h1>${heading}</h1>
<ol>
${steps.map(
  ({ title, text, isProblem }) =>
    html`<li><strong>${title}: ${isProblem === true ? 'failed' : 'passed'}</strong><br>${text}</li>\n`,
)}</ol>
<p>This was a test: you are signed in as before, and no user was registered. You can close this tab.</p>`,
  )
}

const discovered = ({ issuer }: Provider): TestStep => ({
  title: 'Discovery',
  text: `The discovery document of ${issuer} is valid.`,
})

/** Returns the report of a test that could not leave for the provider. */
export function failedStart(provider: Provider, error: UpstreamError): Html {
  return reportPage(provider, [{ title: 'Discovery', text: `${error.message}.`, isProblem: true }])
}

interface ProviderResponse {
  /** Address of the callback, with the host of this server. */
  readonly url: URL
  readonly state: string
  readonly sent: AuthorizationChecks
}

/** Completes the sign-in and returns the report. */
export async function completeTest(
  context: SignInContext,
  provider: Provider,
  { url, state, sent }: ProviderResponse,
): Promise<Html> {
  const steps: TestStep[] = [discovered(provider)]
  const fail = (title: string, text: string) =>
    reportPage(provider, [...steps, { title, text, isProblem: true }])
  try {
    checkResponseIssuer(provider, url)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return fail('Response', `${error.message}.`)
  }
  const problem = url.searchParams.get('error')
  if (problem !== null) {
    // The description of the error is not verified, so it is not repeated (R29).
    const code = /^[a-z_]{1,60}$/.test(problem) ? problem : 'an error'
    return fail('Response', `The provider returned ${code} instead of a code.`)
  }
  steps.push({ title: 'Response', text: 'The provider returned to the redirect URI with a code.' })
  let claims: Claims
  try {
    claims = await context.upstream.completeSignIn(provider, url, state, sent)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    return fail('Tokens', `${error.message}. Check the client ID, the client secret and PKCE.`)
  }
  steps.push({ title: 'Tokens', text: 'The provider accepted the client, and its ID token is valid.' })
  return reportPage(provider, [...steps, ...(await describeUser(context, provider, claims))])
}

async function describeUser(
  { store }: SignInContext,
  provider: Provider,
  { subject, email, emailVerified, groups }: Claims,
): Promise<TestStep[]> {
  const uid = await lookupUser(store.db.kysely, provider.issuer, subject)
  const known = await readResource(store.db, 'identities', uid)
  return [
    {
      title: 'User',
      text: known
        ? `The subject ${subject} is the identity ${uid}.`
        : `The subject ${subject} is new: a sign-in registers it with the role of new users.`,
    },
    { title: 'Email', text: describeEmail(email, emailVerified) },
    { title: 'Groups', text: await describeGroups(store.db, provider, groups) },
  ]
}

function describeEmail(email: string, isVerified: boolean): string {
  if (email === '')
    return 'The provider sends no email address. Request the scope email if invites for addresses must work.'
  return isVerified
    ? `${email}, which the provider has verified.`
    : `${email}, without email_verified: invites for this address do not apply.`
}

async function describeGroups(
  db: SignInContext['store']['db'],
  { id, groupsClaim }: Provider,
  groups: readonly string[],
): Promise<string> {
  if (groupsClaim === '') return 'No groups claim is set: groups are not read.'
  if (groups.length === 0) return `The claim ${groupsClaim} has no groups, or is missing in the ID token.`
  const mapped = await db.kysely
    .selectFrom('external_group_role_mappings')
    .select('external_group_id')
    .where('root', '=', rootOf(id))
    .where('parent', '=', id)
    .where('external_group_id', 'in', [...groups])
    .execute()
  const names = new Set(mapped.map(({ external_group_id }) => external_group_id))
  const described = groups
    .slice(0, GROUPS_SHOWN)
    .map((group) => (names.has(group) ? `${group} (mapped)` : group))
  const more = groups.length > GROUPS_SHOWN ? ` and ${groups.length - GROUPS_SHOWN} more` : ''
  return `${described.join(', ')}${more}.`
}

const GROUPS_SHOWN = 50
