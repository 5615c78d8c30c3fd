import { createHmac } from 'node:crypto'
import { encodeCapabilitySet } from '@berth/contract/capabilities.ts'
import { TimestampSchema } from '@berth/contract/gen/google/protobuf/timestamp_pb.js'
import { jsonOnlyFields } from '@berth/contract/json-only-fields.ts'
import { fromBinary, fromJson, type Message, toBinary, toJson } from '@bufbuild/protobuf'
import type { Timestamp } from '@bufbuild/protobuf/wkt'
import { ApiError, Code, invalidArgument } from '../../api/errors.ts'
import { fullMethodName } from '../../api/method-name.ts'
import { isCreate } from '../../api/standard-methods.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { recordedProviderOf } from '../../pipeline/vouching.ts'
import { seal, unseal } from '../../runtime/encryption.ts'
import type { Tx } from '../db.ts'
import type { Store } from '../store.ts'

/**
 * Idempotent creates (the Idempotency-Key header of draft-ietf-httpapi-idempotency-key-header). The first response is stored, encrypted and
 * for its caller only, in the transaction of the create. A create that fails stores nothing, so a retry runs it again.
 */
export interface IdempotentCreate {
  /** Claims the key for this transaction. Returns the first response if the same request had one. */
  claim(tx: Tx): Promise<Message | undefined>
  /** Stores the response. */
  storeResponse(tx: Tx, answer: Message): Promise<void>
}

/** Returns undefined for calls without a key, and for methods that create nothing: those can be repeated anyway. */
export function idempotentCreateOf(
  { clock, secretsKey }: Pick<Store, 'clock' | 'secretsKey'>,
  call: Call,
): IdempotentCreate | undefined {
  const { idempotencyKey, method, request } = call
  if (idempotencyKey === undefined) return undefined
  if (!isCreate(method)) return undefined
  const key = parseKey(idempotencyKey)
  const {
    caller: { identity: caller, scopes, capabilities },
    grants: { voucher },
  } = authorizationOf(call)
  const context = `answer ${caller} ${key}`
  // Keyed, because a request may hold a secret that could be guessed from a plain hash.
  const requestHash = createHmac('sha256', secretsKey)
    .update(`${fullMethodName(method)}\0`)
    // A token with fewer rights must not see what one with more rights created.
    .update(
      `${JSON.stringify([scopes ?? null, capabilities === undefined ? null : encodeCapabilitySet(capabilities), recordedProviderOf(voucher) || null])}\0`,
    )
    .update(toBinary(method.input, request))
    .digest()

  return {
    async claim(tx) {
      const now = clock()
      await tx
        .deleteFrom('idempotency_keys')
        .where('caller', '=', caller)
        .where('key', '=', key)
        .where('created_ms', '<=', now - limits.idempotencyKeyMaxAgeMs)
        .execute()
      // On PostgreSQL this waits for another transaction with the same key to end.
      const claimed = await tx
        .insertInto('idempotency_keys')
        .values({ caller, key, request_hash: requestHash, answer: new Uint8Array(0), created_ms: now })
        .onConflict((conflict) => conflict.columns(['caller', 'key']).doNothing())
        .executeTakeFirst()
      if ((claimed.numInsertedOrUpdatedRows ?? 0n) > 0n) return undefined
      const first = await tx
        .selectFrom('idempotency_keys')
        .select(['request_hash', 'answer'])
        .where('caller', '=', caller)
        .where('key', '=', key)
        .executeTakeFirstOrThrow()
      if (!requestHash.equals(first.request_hash)) throw keyReused(idempotencyKey)
      const answer = unseal(secretsKey, first.answer, context)
      if (answer === undefined) throw new Error('a stored response cannot be decrypted')
      const [message = '', beside = ''] = answer.split('.')
      return withJsonOnly(fromBinary(method.output, Buffer.from(message, 'base64')), beside)
    },

    async storeResponse(tx, answer) {
      const message = Buffer.from(toBinary(method.output, answer)).toString('base64')
      const text = `${message}.${jsonOnlyText(answer)}`
      await tx
        .updateTable('idempotency_keys')
        .set({ answer: seal(secretsKey, text, context) })
        .where('caller', '=', caller)
        .where('key', '=', key)
        .execute()
    },
  }
}

/** Parts of a response besides the fields of its message, in base64. */
function jsonOnlyText(response: Message): string {
  const names = Object.keys(jsonOnlyFields[response.$typeName] ?? {})
  if (names.length === 0) return ''
  const values = response as unknown as Readonly<Record<string, unknown>>
  const fields = names.flatMap((name) => {
    const value = values[name]
    if (value === undefined) return []
    return [[name, typeof value === 'string' ? value : toJson(TimestampSchema, value as Timestamp)]]
  })
  return Buffer.from(JSON.stringify(Object.fromEntries(fields))).toString('base64')
}

function withJsonOnly(response: Message, text: string): Message {
  if (text === '') return response
  const kinds = jsonOnlyFields[response.$typeName] ?? {}
  const fields = JSON.parse(Buffer.from(text, 'base64').toString()) as Record<string, string>
  const values = Object.entries(fields).map(([name, value]) => [
    name,
    kinds[name] === 'string' ? value : fromJson(TimestampSchema, value),
  ])
  return Object.assign(response, Object.fromEntries(values))
}

/** The draft's header is a quoted string; the bare word that many clients send is the same key. */
function parseKey(header: string): string {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (/^[\x20-\x7e]+$/.test(key) && key.length <= limits.idempotencyKeyCharsMax) return key
  throw invalidArgument(
    'idempotency-key',
    `must be 1 to ${limits.idempotencyKeyCharsMax} printable ASCII characters`,
  )
}

function keyReused(key: string): ApiError {
  const description = `the idempotency key ${key} was used for another request`
  return new ApiError(Code.FAILED_PRECONDITION, `Precondition failed: ${description}`, {
    httpStatus: 422,
    details: [{ kind: 'PreconditionFailure', violations: [{ type: 'IDEMPOTENCY_KEY_REUSED', description }] }],
  })
}
