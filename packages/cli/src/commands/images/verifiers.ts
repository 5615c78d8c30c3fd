import { readFile } from 'node:fs/promises'
import type { SignatureVerifier, SignatureVerifierInput } from '@berth/client/berth.ts'
import type {
  CommandDeclaration,
  CommandGroup,
  OptionDeclaration,
} from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { nameSort } from '../../invocation/list-command.ts'
import {
  descriptionOption,
  newNameOption,
  parentOption,
  readOptions,
  requireChange,
  scopeOptions,
} from '../../invocation/options.ts'
import { type Resource, resourceCommands } from '../../invocation/resource-commands.ts'
import { readScope, resolveGroupUid, resolveUid } from '../../invocation/resource-lookup.ts'
import type { ResourceNames } from '../../invocation/resource-names.ts'
import {
  createdColumn,
  descriptionColumn,
  groupColumn,
  idColumn,
  loadGroups,
  nameColumn,
} from '../../output/columns.ts'
import type { View } from '../../output/output.ts'

/** Signature verifiers: keys, certificate authorities and identities whose signatures a group trusts. */

const verifierView = (names: ResourceNames): View<SignatureVerifier> => ({
  columns: [
    nameColumn,
    groupColumn(names),
    idColumn,
    { title: 'METHOD', value: methodName },
    { title: 'IDENTITY', kind: 'long', value: identityOf },
    { title: 'ISSUER', value: ({ certificate }) => certificate?.issuer ?? certificate?.issuerPattern ?? '' },
    descriptionColumn,
    createdColumn,
  ],
  empty: 'no signature verifiers visible to you',
  load: loadGroups(names),
})

function methodName({ publicKey, certificate }: SignatureVerifier): string {
  if (publicKey !== undefined) return 'key'
  return certificate === undefined ? 'notation' : 'certificate'
}

function identityOf({ certificate, notation }: SignatureVerifier): string {
  return certificate?.identity ?? certificate?.identityPattern ?? notation?.identities.join('; ') ?? ''
}

const resolveVerifierUid = (invocation: Invocation) =>
  resolveUid(invocation, invocation.argument(0), {
    noun: 'verifier',
    list: (client, filter) => client.signatureVerifiers.all(filter),
  })

const verifierResource: Resource<SignatureVerifier> = {
  noun: 'verifier',
  plural: 'verifiers',
  command: 'berth images verifiers',
  example: 'release',
  parameter: { name: 'VERIFIER', summary: 'uid or name' },
  view: verifierView,
  list: async (invocation, request) =>
    (await invocation.client()).signatureVerifiers.all({ ...request, ...(await readScope(invocation)) }),
  listOptions: scopeOptions,
  serverSort: nameSort,
  serverFilters: { name: 'name' },
  resolveUid: resolveVerifierUid,
  get: (client, uid) => client.signatureVerifiers.get(uid),
  delete: (client, uid) => client.signatureVerifiers.delete(uid),
  label: (verifier, names) => names.path(verifier),
}

const methodOptions: readonly OptionDeclaration[] = [
  { flags: '--key <file>', summary: 'public key in PEM', conflicts: ['authorities', 'notationAuthorities'] },
  {
    flags: '--authorities <file>',
    summary: 'certificates of the authorities in PEM, for signatures with certificates',
    conflicts: ['notationAuthorities'],
  },
  {
    flags: '--identity <identity>',
    summary: 'identity of the signer; several of Notation are separated by semicolons',
    conflicts: ['identityPattern'],
  },
  { flags: '--identity-pattern <regexp>', summary: 'pattern of the whole identity, in RE2 syntax' },
  { flags: '--issuer <url>', summary: 'issuer of the identity', conflicts: ['issuerPattern'] },
  { flags: '--issuer-pattern <regexp>', summary: 'pattern of the whole issuer, in RE2 syntax' },
  {
    flags: '--log-key <file>',
    summary: 'public key of a transparency log in PEM (repeatable)',
    repeatable: true,
  },
  {
    flags: '--timestamp-authority <file>',
    summary: 'certificate chain of a timestamp authority in PEM (repeatable)',
    repeatable: true,
  },
  {
    flags: '--certificate-log-key <file>',
    summary: 'public key of a certificate transparency log in PEM (repeatable)',
    repeatable: true,
  },
  { flags: '--notation-authorities <file>', summary: 'certificates of a trust store of Notation in PEM' },
]

type Method = Pick<SignatureVerifierInput, 'publicKey' | 'certificate' | 'notation'>

/** Reads the method from the options; nothing if none is given. */
async function readMethod(invocation: Invocation): Promise<Method> {
  const [key, authorities, notation] = ['key', 'authorities', 'notationAuthorities'].map((name) =>
    invocation.option(name),
  ) as [string, string, string]
  const identity = invocation.option('identity')
  const files = (name: string) => Promise.all(invocation.optionValues(name).map(readPem))
  if (key !== '') return { publicKey: { key: await readPem(key), logKeys: await files('logKey') } }
  if (notation !== '')
    return {
      notation: {
        authorities: await readPem(notation),
        identities: identity.split(';').map((text) => text.trim()),
      },
    }
  if (authorities === '') {
    if (identity !== '') throw new UsageError('--identity requires --authorities or --notation-authorities')
    return {}
  }
  const identityPattern = invocation.option('identityPattern')
  const [issuer, issuerPattern] = [invocation.option('issuer'), invocation.option('issuerPattern')]
  return {
    certificate: {
      authorities: await readPem(authorities),
      ...(identity !== '' && { identity }),
      ...(identityPattern !== '' && { identityPattern }),
      ...(issuer !== '' && { issuer }),
      ...(issuerPattern !== '' && { issuerPattern }),
      logKeys: await files('logKey'),
      timestampAuthorities: await files('timestampAuthority'),
      certificateLogKeys: await files('certificateLogKey'),
    },
  }
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new UsageError(`${path} cannot be read`, { cause })
  }
}

const shared = resourceCommands(verifierResource)

const commands: readonly CommandDeclaration[] = [
  {
    ...shared.list,
    summary: 'List signature verifiers',
    examples: ['berth images verifiers list', 'berth images verifiers list --parent my-org'],
  },
  { ...shared.describe, summary: 'Show a signature verifier' },
  {
    name: 'create',
    summary: 'Create a signature verifier for the images of an organization or folder',
    parameters: [{ name: 'NAME', summary: 'name', required: true }],
    options: [parentOption, descriptionOption, ...methodOptions],
    examples: [
      'berth images verifiers create release --parent my-org --key cosign.pub',
      'berth images verifiers create ci --parent my-org --authorities fulcio.pem --log-key rekor.pub --identity-pattern "https://github\\.com/acme/.*" --issuer https://token.actions.githubusercontent.com',
      'berth images verifiers create vendor --parent my-org --notation-authorities ca.pem --identity "x509.subject: C=US, ST=WA, O=acme"',
    ],
    async run(invocation) {
      const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
      const body = {
        name: invocation.argument(0),
        ...readOptions(invocation, 'description'),
        ...(await readMethod(invocation)),
      }
      const client = await invocation.client()
      await invocation.output.item(
        await client.signatureVerifiers.create(group, body),
        verifierView(invocation.names),
      )
    },
  },
  {
    name: 'update',
    summary: 'Change a signature verifier',
    parameters: [verifierResource.parameter],
    options: [newNameOption, descriptionOption, ...methodOptions],
    examples: ['berth images verifiers update release --key new.pub'],
    async run(invocation) {
      const patch = requireChange({
        ...readOptions(invocation, 'name', 'description'),
        ...(await readMethod(invocation)),
      })
      const uid = await resolveVerifierUid(invocation)
      const client = await invocation.client()
      await invocation.output.item(
        await client.signatureVerifiers.update(uid, patch),
        verifierView(invocation.names),
      )
    },
  },
  {
    ...shared.delete,
    summary: 'Delete a signature verifier',
    examples: ['berth images verifiers delete release --yes'],
  },
]

export const verifiersGroup: CommandGroup = {
  name: 'verifiers',
  aliases: ['verifier'],
  summary: 'Manage signature verifiers: whose signatures of images are trusted',
  commands,
}
