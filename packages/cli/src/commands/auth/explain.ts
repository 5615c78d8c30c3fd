import type { ExchangeCondition } from '@berth/client/berth.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { resolveIdentityUid } from '../../invocation/resource-lookup.ts'
import { readIdentityToken } from '../../session/sign-in/identity-token.ts'

const outcomeSymbols = {
  OUTCOME_OK: '✔',
  OUTCOME_FAILED: '✘',
  OUTCOME_UNKNOWN: '?',
  OUTCOME_UNSPECIFIED: '?',
} as const

/** Prints each condition of an exchange, with a hint for each that fails. Sets exit code 1 if one fails. */
export async function explainToken(invocation: Invocation, identity: string, token: string): Promise<void> {
  const client = await invocation.client()
  const identityProvider = invocation.optionIfSet('identityProvider')
  const result = await client.explain.explainExchange({
    identity: await resolveIdentityUid(invocation, identity),
    token: readIdentityToken(token),
    ...(identityProvider === undefined ? {} : { identityProvider }),
    audience: invocation.option('targetAudience'),
  })
  const { format } = invocation.output
  if (format === 'json' || format === 'yaml') await invocation.output.item(result, { columns: [] })
  else {
    await invocation.output.list<ExchangeCondition>(result.conditions, {
      columns: [
        { title: '', value: ({ outcome }) => outcomeSymbols[outcome] },
        { title: 'CONDITION', kind: 'name', value: ({ name }) => name },
        { title: 'EXPECTED', kind: 'long', value: ({ expected }) => expected },
        { title: 'ACTUAL', kind: 'long', value: ({ actual }) => actual },
      ],
      id: ({ name }) => name,
    })
    for (const { name, hint } of result.conditions)
      if (hint !== '') invocation.output.notice(`${name}: ${hint}`)
    invocation.output.notice(result.accepted ? 'the token is accepted' : 'the token is not accepted')
  }
  if (!result.accepted) process.exitCode = 1
}
