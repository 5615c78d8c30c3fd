import type { IdentityProvider, IdentityProviderInput } from '../../../client/berth.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../client/columns.ts'
import type { CommandDeclaration, CommandGroup, OptionDeclaration } from '../client/command.ts'
import type { Invocation } from '../client/invocation.ts'
import { organizationUid, roleUid, scopeOf, uidOf } from '../client/locate.ts'
import { change, description, given, needed, newName, yes } from '../client/options.ts'
import type { View } from '../client/output.ts'

/** Identity providers: where the people of an organization sign in. */

const callbacks = { own: 'CALLBACK_OWN', shared: 'CALLBACK_SHARED' } as const

function nameOf(names: Readonly<Record<string, string>>, value: string): string {
  return Object.keys(names).find((name) => names[name] === value) ?? ''
}

const view: View<IdentityProvider> = {
  columns: [
    idColumn,
    nameColumn,
    { title: 'ISSUER', value: ({ oidc }) => oidc?.issuer ?? '' },
    { title: 'CLIENT', value: ({ oidc }) => oidc?.clientId ?? '' },
    { ...descriptionColumn, wide: true },
    { title: 'SCOPES', value: ({ oidc }) => (oidc?.additionalScopes ?? []).join(', '), wide: true },
    { title: 'GROUPS CLAIM', value: ({ oidc }) => oidc?.groupsClaim ?? '', wide: true },
    { title: 'PKCE', value: ({ oidc }) => (oidc?.pkceEnabled ? 'always' : ''), wide: true },
    { title: 'DEFAULT ROLE', kind: 'uid', value: ({ defaultRole }) => defaultRole, wide: true },
    { title: 'REDIRECT URI', kind: 'long', value: ({ redirectUri }) => redirectUri, wide: true },
    { title: 'CALLBACK', value: ({ callback }) => nameOf(callbacks, callback), wide: true },
    { title: 'SIGN-IN PROBLEM', kind: 'long', value: ({ signInProblem }) => signInProblem, wide: true },
    createdColumn,
  ],
  tree: { label: ({ name, oidc }) => `${name} ${oidc?.issuer ?? ''}`, uid: ({ uid }) => uid },
  empty: 'no identity providers that you may see',
}

const settings: readonly OptionDeclaration[] = [
  description,
  { flags: '--default-role <role>', summary: 'what whoever signs in for the first time becomes' },
  { flags: '--oidc-issuer <url>', summary: 'its address' },
  { flags: '--oidc-client-id <id>', summary: 'what Berth is called there' },
  { flags: '--oidc-client-secret <secret>', summary: 'and its secret' },
  { flags: '--oidc-additional-scopes <scopes>', summary: 'asked for besides openid', repeatable: true },
  { flags: '--oidc-groups-claim <claim>', summary: 'the claim that holds the groups of a person' },
  {
    flags: '--oidc-pkce-enabled <true|false>',
    summary: 'always send proof keys',
    choices: ['true', 'false'],
  },
  {
    flags: '--configuration-type <type>',
    summary: 'OIDC is the only one',
    choices: ['OIDC'],
    default: 'OIDC',
    hidden: true,
  },
]

const rules = {
  sub: 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID',
  oid: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
} as const

function oidcOf(invocation: Invocation): Record<string, unknown> {
  const scopes = invocation.list('oidcAdditionalScopes')
  const pkce = invocation.given('oidcPkceEnabled')
  const rule = invocation.given('oidcCorrelationRule')
  const parts = {
    issuer: invocation.given('oidcIssuer'),
    clientId: invocation.given('oidcClientId'),
    clientSecret: invocation.given('oidcClientSecret'),
    additionalScopes: scopes.length === 0 ? undefined : scopes,
    groupsClaim: invocation.given('oidcGroupsClaim'),
    pkceEnabled: pkce === undefined ? undefined : pkce === 'true',
    correlationRule: rule === undefined ? undefined : rules[rule as keyof typeof rules],
  }
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
}

const provider = [{ name: 'PROVIDER', summary: 'its uid or name' }] as const
const picked = (invocation: Invocation) =>
  uidOf(invocation, invocation.word(0), {
    what: 'provider',
    list: (client, filter) => client.identityProviders.all(filter),
  })

const commands: readonly CommandDeclaration[] = [
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'list identity providers',
    options: [{ flags: '--parent <organization>', summary: 'only those of this organization' }],
    examples: ['berth iam identity-providers list'],
    async run(invocation) {
      const client = await invocation.client()
      await invocation.output.list(
        client.identityProviders.all({ orderBy: 'name', ...(await scopeOf(invocation)) }),
        view,
      )
    },
  },
  {
    name: 'create',
    summary: 'let the people of an organization sign in with their own OpenID provider',
    options: [
      { flags: '-n, --name <name>', summary: 'what to call it' },
      { flags: '--parent <organization>', summary: 'whose it is' },
      ...settings,
      {
        flags: '--oidc-correlation-rule <rule>',
        summary: 'which claim names a person there: sub or oid; cannot be changed',
        choices: Object.keys(rules),
      },
    ],
    examples: [
      'berth iam identity-providers create --name okta --parent my-org --oidc-issuer https://acme.okta.com --oidc-client-id berth --oidc-client-secret "$SECRET" --oidc-additional-scopes email,groups --oidc-groups-claim groups --default-role viewer',
    ],
    async run(invocation) {
      needed(invocation, 'oidcIssuer', '--oidc-issuer')
      needed(invocation, 'oidcClientId', '--oidc-client-id')
      const name = invocation.text('name') || (await invocation.ask.text('Name of the provider?', '--name'))
      const parent = await organizationUid(invocation, invocation.text('parent'), '--parent')
      const defaultRole = await roleUid(invocation, invocation.text('defaultRole'), {
        group: parent,
        missing: '--default-role',
      })
      const client = await invocation.client()
      const body = { name, defaultRole, oidc: oidcOf(invocation), ...given(invocation, 'description') }
      invocation.output.item(
        await client.identityProviders.create(parent, body as unknown as IdentityProviderInput),
        view,
      )
    },
  },
  {
    name: 'describe',
    aliases: ['get'],
    summary: 'show an identity provider',
    parameters: provider,
    examples: ['berth iam identity-providers describe okta -o yaml'],
    async run(invocation) {
      const uid = await picked(invocation)
      invocation.output.item(await (await invocation.client()).identityProviders.get(uid), view)
    },
  },
  {
    name: 'update',
    summary: 'change an identity provider',
    parameters: provider,
    options: [
      newName,
      ...settings,
      {
        flags: '--callback <callback>',
        summary:
          'own: use the redirect URI of this provider instead of the shared one; register it there first',
        choices: ['own'],
      },
    ],
    examples: [
      'berth iam identity-providers update okta --oidc-client-secret "$NEW"',
      'berth iam identity-providers update okta --callback own',
    ],
    async run(invocation) {
      const uid = await picked(invocation)
      const oidc = oidcOf(invocation)
      const role = invocation.text('defaultRole')
      const organization = uid.split('/')[0] ?? ''
      const patch = change({
        ...given(invocation, 'name', 'description'),
        ...(role === '' ? {} : { defaultRole: await roleUid(invocation, role, { group: organization }) }),
        ...(Object.keys(oidc).length === 0 ? {} : { oidc }),
        ...(invocation.given('callback') === undefined ? {} : { callback: callbacks.own }),
      })
      const client = await invocation.client()
      invocation.output.item(
        await client.identityProviders.update(uid, patch as unknown as Partial<IdentityProviderInput>),
        view,
      )
    },
  },
  {
    name: 'delete',
    aliases: ['rm'],
    summary: 'delete an identity provider; whoever signed in with it is signed out at once',
    parameters: provider,
    options: [yes],
    examples: ['berth iam identity-providers delete okta --yes'],
    async run(invocation) {
      const uid = await picked(invocation)
      const client = await invocation.client()
      const { name } = await client.identityProviders.get(uid)
      await invocation.ask.confirm(`Delete ${name} and sign out whoever came through it?`)
      await client.identityProviders.delete(uid)
      invocation.output.done(`deleted ${name} (${uid})`)
    },
  },
]

export const identityProvidersGroup: CommandGroup = {
  name: 'identity-providers',
  aliases: ['identity-provider', 'idps', 'idp'],
  summary: 'identity providers: where the people of an organization sign in',
  commands,
}
