import { ExplainService, ExchangeCondition_Outcome as Outcome } from '#gen/berth/sts/v1/explain_pb.js'
import { requireScope } from '../core/allowed.ts'
import { implement } from '../core/call.ts'
import { notFound } from '../core/errors.ts'
import { requireValid } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import { parseUid, type Uid } from '../core/uid.ts'
import { readResource } from '../storage/rows.ts'
import type { Condition } from '../trust/condition.ts'
import { evaluateAll } from '../trust/judges.ts'
import { type AssumeOptions, assume } from './assume/assume.ts'

/** Why a token can assume an identity, or cannot: the conditions of an exchange, for those who may read the identity. */

const IDENTITY_TYPE = 'iam.chainguard.dev/Identity'

export function explainService(options: AssumeOptions) {
  return implement(ExplainService, {
    async explainExchange({ token, identityProvider }, call) {
      const identity = requireScope(call).scope as Uid
      const provider = parseUid(identityProvider)
      requireValid(
        token === '' ? { field: 'token', description: 'must be given' } : undefined,
        token.length > limits.bearerTokenCharsMax
          ? { field: 'token', description: `must have at most ${limits.bearerTokenCharsMax} characters` }
          : undefined,
        identityProvider === '' || provider !== undefined
          ? undefined
          : { field: 'identityProvider', description: 'must be a uid' },
      )
      if ((await readResource(options.db, 'identities', identity)) === undefined)
        throw notFound(IDENTITY_TYPE, identity)
      const attempt = { token: token.trim(), identity, identityProvider: provider, signal: call.signal }
      const conditions = await evaluateAll((check) => assume(attempt, options, check, noObserver))
      return {
        $typeName: 'berth.sts.v1.ExplainExchangeResponse' as const,
        accepted: conditions.every(({ holds }) => holds === true),
        conditions: conditions.map(toMessage),
      }
    },
  })
}

const noObserver = { onIdentity() {}, onVerified() {} }

function toMessage({ name, holds, detail }: Condition) {
  const { expected, actual, hint = '' } = detail()
  return {
    $typeName: 'berth.sts.v1.ExchangeCondition' as const,
    name,
    outcome: holds === undefined ? Outcome.UNKNOWN : holds ? Outcome.OK : Outcome.FAILED,
    expected,
    actual,
    hint: holds === true ? '' : hint,
  }
}
