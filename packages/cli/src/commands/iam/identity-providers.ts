import type { IdentityProvider, IdentityProviderInput } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import {
  descriptionOption,
  newNameOption,
  readOptions,
  requireChange,
  requireOption,
  yesOption,
} from '../../invocation/options.ts'
import {
  readScope,
  resolveOrganizationUid,
  resolveRoleUid,
  resolveUid,
} from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

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

const providerOptions: readonly OptionDeclaration[] = [
  descriptionOption,
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

const correlationRules = {
  sub: 'CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID',
  oid: 'CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID',
} as const

function readOidc(invocation: Invocation): Record<string, unknown> {
  const scopes = invocation.optionValues('oidcAdditionalScopes')
  const pkce = invocation.optionIfSet('oidcPkceEnabled')
  const rule = invocation.optionIfSet('oidcCorrelationRule')
  const parts = {
    issuer: invocation.optionIfSet('oidcIssuer'),
    clientId: invocation.optionIfSet('oidcClientId'),
    clientSecret: invocation.optionIfSet('oidcClientSecret'),
    additionalScopes: scopes.length === 0 ? undefined : scopes,
    groupsClaim: invocation.optionIfSet('oidcGroupsClaim'),
    pkceEnabled: pkce === undefined ? undefined : pkce === 'true',
    correlationRule: rule === undefined ? undefined : correlationRules[rule as keyof typeof correlationRules],
  }
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined))
}

const providerParameters = [{ name: 'PROVIDER', summary: 'its uid or name' }] as const
const resolveProviderUid = (invocation: Invocation) =>
  resolveUid(invocation, invocation.argument(0), {
    noun: 'provider',
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
        client.identityProviders.all({ orderBy: 'name', ...(await readScope(invocation)) }),
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
      ...providerOptions,
      {
        flags: '--oidc-correlation-rule <rule>',
        summary: 'which claim names a person there: sub or oid; cannot be changed',
        choices: Object.keys(correlationRules),
      },
    ],
    examples: [
      'berth iam identity-providers create --name okta --parent my-org --oidc-issuer https://acme.okta.com --oidc-client-id berth --oidc-client-secret "$SECRET" --oidc-additional-scopes email,groups --oidc-groups-claim groups --default-role viewer',
    ],
    async run(invocation) {
      requireOption(invocation, 'oidcIssuer', '--oidc-issuer')
      requireOption(invocation, 'oidcClientId', '--oidc-client-id')
      const name =
        invocation.option('name') || (await invocation.prompt.input('Name of the provider?', '--name'))
      const parent = await resolveOrganizationUid(invocation, invocation.option('parent'), '--parent')
      const defaultRole = await resolveRoleUid(invocation, invocation.option('defaultRole'), {
        group: parent,
        missing: '--default-role',
      })
      const client = await invocation.client()
      const body = {
        name,
        defaultRole,
        oidc: readOidc(invocation),
        ...readOptions(invocation, 'description'),
      }
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
    parameters: providerParameters,
    examples: ['berth iam identity-providers describe okta -o yaml'],
    async run(invocation) {
      const uid = await resolveProviderUid(invocation)
      invocation.output.item(await (await invocation.client()).identityProviders.get(uid), view)
    },
  },
  {
    name: 'update',
    summary: 'change an identity provider',
    parameters: providerParameters,
    options: [
      newNameOption,
      ...providerOptions,
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
      const uid = await resolveProviderUid(invocation)
      const oidc = readOidc(invocation)
      const role = invocation.option('defaultRole')
      const organization = uid.split('/')[0] ?? ''
      const patch = requireChange({
        ...readOptions(invocation, 'name', 'description'),
        ...(role === ''
          ? {}
          : { defaultRole: await resolveRoleUid(invocation, role, { group: organization }) }),
        ...(Object.keys(oidc).length === 0 ? {} : { oidc }),
        ...(invocation.optionIfSet('callback') === undefined ? {} : { callback: callbacks.own }),
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
    parameters: providerParameters,
    options: [yesOption],
    examples: ['berth iam identity-providers delete okta --yes'],
    async run(invocation) {
      const uid = await resolveProviderUid(invocation)
      const client = await invocation.client()
      const { name } = await client.identityProviders.get(uid)
      await invocation.prompt.confirm(`Delete ${name} and sign out whoever came through it?`)
      await client.identityProviders.delete(uid)
      invocation.output.notice(`deleted ${name} (${uid})`)
    },
  },
]

export const identityProvidersGroup: CommandGroup = {
  name: 'identity-providers',
  aliases: ['identity-provider', 'idps', 'idp'],
  summary: 'identity providers: where the people of an organization sign in',
  commands,
}
