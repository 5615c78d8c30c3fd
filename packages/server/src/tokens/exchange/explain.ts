import {
  ExplainService,
  ExchangeCondition_Outcome as Outcome,
} from '@berth/contract/gen/berth/sts/v1/explain_pb.js'
import { notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Condition } from '../trust/condition.ts'
import { evaluateAll } from '../trust/evaluate.ts'
import { type AssumeOptions, assume } from './assume.ts'
import { findAudience } from './token-request.ts'

/** Explains whether a token can assume an identity: all conditions of an exchange, for callers who may read the identity. */

const IDENTITY_TYPE = 'iam.chainguard.dev/Identity'

export function explainService(options: AssumeOptions) {
  return implement(ExplainService, {
    async explainExchange({ token, identityProvider, audience }, call) {
      const identity = requireScope(call).scope as Uid
      const provider = parseUid(identityProvider)
      const requested = findAudience(options.audiences, audience || (options.audiences[0] ?? ''))
      requireValid(
        token === '' ? { field: 'token', description: 'is required' } : undefined,
        token.length > limits.bearerTokenCharsMax
          ? { field: 'token', description: `must have at most ${limits.bearerTokenCharsMax} characters` }
          : undefined,
        identityProvider === '' || provider !== undefined
          ? undefined
          : { field: 'identityProvider', description: 'must be a uid' },
        requested === undefined
          ? { field: 'audience', description: `must be among ${options.audiences.join(', ')}` }
          : undefined,
      )
      if ((await readResource(options.db, 'identities', identity)) === undefined)
        throw notFound(IDENTITY_TYPE, identity)
      const attempt = {
        token: token.trim(),
        identity,
        identityProvider: provider,
        audiences: requested === undefined ? [] : [requested],
        signal: call.signal,
      }
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
