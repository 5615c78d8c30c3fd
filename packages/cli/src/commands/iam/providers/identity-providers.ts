import type { IdentityProvider, IdentityProviderInput } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../../invocation/command-declaration.ts'
import type { Invocation } from '../../../invocation/invocation.ts'
import { nameSort } from '../../../invocation/list-command.ts'
import {
  descriptionOption,
  newNameOption,
  readOptions,
  requireChange,
  requireOption,
} from '../../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../../invocation/resource-commands.ts'
import {
  readScope,
  resolveOrganizationUid,
  resolveRoleUid,
  resolveUid,
} from '../../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../../invocation/resource-names.ts'
import { parentUid } from '../../../invocation/resource-uids.ts'
import {
  createdColumn,
  descriptionColumn,
  groupColumn,
  idColumn,
  nameColumn,
} from '../../../output/columns.ts'
import type { View } from '../../../output/output.ts'

/** Identity providers that the users of an organization sign in with. */

const callbacks = { own: 'CALLBACK_OWN', shared: 'CALLBACK_SHARED' } as const

function nameOf(names: Readonly<Record<string, string>>, value: string): string {
  return Object.keys(names).find((name) => names[name] === value) ?? ''
}

const providerView = (names: ResourceNames): View<IdentityProvider> => ({
  columns: [
    nameColumn,
    { ...groupColumn(names), title: 'ORGANIZATION' },
    idColumn,
    { title: 'ISSUER', value: ({ oidc }) => oidc?.issuer ?? '' },
    { title: 'CLIENT', value: ({ oidc }) => oidc?.clientId ?? '' },
    { ...descriptionColumn, wide: true },
    { title: 'SCOPES', value: ({ oidc }) => (oidc?.additionalScopes ?? []).join(', '), wide: true },
    { title: 'GROUPS CLAIM', value: ({ oidc }) => oidc?.groupsClaim ?? '', wide: true },
    { title: 'PKCE', value: ({ oidc }) => (oidc?.pkceEnabled ? 'always' : ''), wide: true },
    { title: 'DEFAULT ROLE', value: ({ defaultRole }) => names.roleName(defaultRole), wide: true },
    { title: 'REDIRECT URI', kind: 'long', value: ({ redirectUri }) => redirectUri, wide: true },
    { title: 'CALLBACK', value: ({ callback }) => nameOf(callbacks, callback), wide: true },
    { title: 'SIGN-IN PROBLEM', kind: 'long', value: ({ signInProblem }) => signInProblem, wide: true },
    createdColumn,
  ],
  tree: { label: ({ name, oidc }) => `${name} ${oidc?.issuer ?? ''}`, uid: ({ uid }) => uid },
  empty: 'no identity providers visible to you',
  load: (providers) =>
    names.load({
      groups: providers.map(({ uid }) => parentUid(uid)),
      roles: providers.map(({ defaultRole }) => defaultRole),
    }),
})

const providerOptions: readonly OptionDeclaration[] = [
  descriptionOption,
  { flags: '--default-role <role>', summary: 'role granted at the first sign-in' },
  { flags: '--oidc-issuer <url>', summary: 'issuer URL' },
  { flags: '--oidc-client-id <id>', summary: 'client id of Berth at the provider' },
  { flags: '--oidc-client-secret <secret>', summary: 'client secret of Berth at the provider' },
  {
    flags: '--oidc-additional-scopes <scopes>',
    summary: 'scopes to request in addition to openid',
    repeatable: true,
  },
  { flags: '--oidc-groups-claim <claim>', summary: 'claim with the groups of the user' },
  {
    flags: '--oidc-pkce-enabled <true|false>',
    summary: 'always use PKCE',
    choices: ['true', 'false'],
  },
  {
    flags: '--configuration-type <type>',
    summary: 'provider type; only OIDC is supported',
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

const providerResource: Resource<IdentityProvider> = {
  noun: 'identity provider',
  plural: 'identity providers',
  command: 'berth iam identity-providers',
  example: 'okta',
  parameter: { name: 'PROVIDER', summary: 'uid or name' },
  view: providerView,
  async list(invocation, request) {
    const client = await invocation.client()
    return client.identityProviders.all({ orderBy: 'name', ...request, ...(await readScope(invocation)) })
  },
  serverSort: nameSort,
  serverFilters: { name: 'name' },
  listOptions: [{ flags: '--parent <organization>', summary: 'organization' }],
  resolveUid: (invocation) =>
    resolveUid(invocation, invocation.argument(0), {
      noun: 'provider',
      list: (client, filter) => client.identityProviders.all(filter),
    }),
  get: (client, uid) => client.identityProviders.get(uid),
  delete: (client, uid) => client.identityProviders.delete(uid),
  label: (provider, names) => names.path(provider),
  deleteEffect: 'and sign out all users who signed in with it',
}

const shared = resourceCommands(providerResource)

const commands: readonly CommandDeclaration[] = [
  shared.list,
  {
    name: 'create',
    summary: 'Add an OpenID provider that users of an organization sign in with',
    options: [
      { flags: '-n, --name <name>', summary: 'name' },
      { flags: '--parent <organization>', summary: 'organization that the provider belongs to' },
      ...providerOptions,
      {
        flags: '--oidc-correlation-rule <rule>',
        summary: 'claim that identifies the user: sub or oid; cannot be changed later',
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
      await invocation.output.item(
        await client.identityProviders.create(parent, body as unknown as IdentityProviderInput),
        providerView(invocation.names),
      )
    },
  },
  shared.describe,
  {
    name: 'update',
    summary: 'Change an identity provider',
    parameters: [providerResource.parameter],
    options: [
      newNameOption,
      ...providerOptions,
      {
        flags: '--callback <callback>',
        summary:
          'own: use the redirect URI of this provider instead of the shared one; register it at the provider first',
        choices: ['own'],
      },
    ],
    examples: [
      'berth iam identity-providers update okta --oidc-client-secret "$NEW"',
      'berth iam identity-providers update okta --callback own',
    ],
    async run(invocation) {
      const uid = await providerResource.resolveUid(invocation)
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
      await invocation.output.item(
        await client.identityProviders.update(uid, patch as unknown as Partial<IdentityProviderInput>),
        providerView(invocation.names),
      )
    },
  },
  { ...shared.delete, summary: 'Delete an identity provider and sign out its users' },
]

export const identityProvidersGroup: CommandGroup = {
  name: 'identity-providers',
  aliases: ['identity-provider', 'idps', 'idp'],
  summary: 'Manage identity providers',
  commands,
}
