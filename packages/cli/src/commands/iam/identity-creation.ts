import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import { ciCommands } from './ci-identities.ts'
import { creationOptions, nameParameter, readRule, runCreation } from './create-identity.ts'
import { matchingOptions, readRelationship } from './identity-matching.ts'

/** `berth iam identities create …`: a command for each kind of token. */

export const createCommands: readonly CommandDeclaration[] = [
  {
    name: 'token',
    aliases: ['claims'],
    summary: 'Create an identity for tokens with given claims or keys',
    parameters: nameParameter,
    options: [...matchingOptions, ...creationOptions],
    examples: [
      'berth iam identities create token deployer --identity-issuer https://issuer.example.com --subject deploy --parent my-org --role viewer',
      'berth iam identities create token robot --identity-issuer https://robots.example.com --subject r1 --issuer-keys keys.json --parent my-org',
    ],
    async run(invocation) {
      const { optionIfSet } = invocation
      if (
        optionIfSet('issuer') !== undefined &&
        ['identityIssuer', 'identityIssuerPattern', 'file'].every((name) => optionIfSet(name) === undefined)
      )
        throw new UsageError(
          '--issuer is the token service of berth; give the issuer of the tokens with --identity-issuer',
        )
      const relationship = readRelationship(invocation)
      if (relationship === undefined)
        throw new UsageError(
          'no tokens specified: give --identity-issuer and --subject, --issuer-keys or --file; or use create github, gitlab, aws-role, aws-user',
        )
      await runCreation(invocation, relationship)
    },
  },
  ...ciCommands,
  ...(['role', 'user'] as const).map(
    (kind): CommandDeclaration => ({
      name: `aws-${kind}`,
      summary: `Create an identity for an AWS ${kind}`,
      parameters: nameParameter,
      options: [
        { flags: '--aws-account-id <id>', summary: 'account id (12 digits)' },
        { flags: `--aws-${kind}-name <name>`, summary: `${kind} name` },
        {
          flags: `--aws-${kind}-id <id>`,
          summary: `unique ${kind} id (${kind === 'role' ? 'AROA…' : 'AIDA…'})`,
        },
        {
          flags: '--aws-partition <partition>',
          summary: 'partition: aws, aws-us-gov or aws-cn',
          default: 'aws',
        },
        ...creationOptions,
      ],
      examples: [
        `berth iam identities create aws-${kind} build --aws-account-id 123456789012 --aws-${kind}-name build --aws-${kind}-id ${kind === 'role' ? 'AROAEXAMPLEID' : 'AIDAEXAMPLEID'} --parent my-org`,
      ],
      async run(invocation) {
        await runCreation(invocation, readRule(invocation, `aws-${kind}`))
      },
    }),
  ),
]
