import {
  type ListSigningKeysResponse,
  ListSigningKeysResponseSchema,
  OperatorSigningKeysService,
  SigningKeyState,
} from '@berth/contract/gen/berth/operator/v1/signing_keys_pb.js'
import { create } from '@bufbuild/protobuf'
import { timestampOf } from '../../api/messages.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { callActor } from '../actor.ts'
import { rotateSigningKeys } from '../signing-keys.ts'
import { type OperatorContext, operatorService, recently } from './context.ts'

/** The keys that sign tokens, for operators. */

const states = {
  next: SigningKeyState.NEXT,
  signing: SigningKeyState.SIGNING,
  published: SigningKeyState.PUBLISHED,
} as const

export function operatorSigningKeysService(context: OperatorContext): ServiceImplementation {
  const { store, keys } = context
  const list = async (): Promise<ListSigningKeysResponse> =>
    create(ListSigningKeysResponseSchema, {
      signingKeys: (await keys.list()).map(({ kid, algorithm, state, ...times }) => ({
        kid,
        algorithm,
        state: states[state],
        createTime: timestampOf(times.createdMs),
        signTime: timestampOf(times.signsFromMs),
        expireTime: timestampOf(times.expiresMs),
      })),
    })
  return operatorService(context, OperatorSigningKeysService, {
    listSigningKeys: list,
    rotateSigningKeys: recently(context, async ({ withdraw }, call) => {
      await rotateSigningKeys({ store, keys }, { now: withdraw }, callActor(store, call))
      return list()
    }),
  })
}
