import { Auth } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import { ApiError, Code, invalidArgument } from '../../api/errors.ts'
import { deleteOwnAccount } from '../../iam/identities/own-account.ts'
import { implement } from '../../pipeline/call.ts'
import { headlessResults } from '../oauth/sdk-flows/headless.ts'
import { type RegistrationOptions, register } from './registration.ts'
import { whoAmI } from './who-am-i.ts'

/** The public service for users: returns, registers and deletes the caller's identity, and serves results of the headless flow. */
export function authService(options: RegistrationOptions) {
  const { store } = options
  return implement(Auth, {
    validate: (_request, call) => whoAmI(store, call),

    register: (request, call) => register(options, request, call),

    delete: ({ id }, call) => deleteOwnAccount(store, call, id),

    async getHeadlessSession({ code }) {
      if (code === '') throw invalidArgument('code', 'is required')
      const result = await headlessResults(store).consume(code)
      if (result === undefined)
        throw new ApiError(
          Code.NOT_FOUND,
          'Not found: no one has signed in with this code yet, or the result was already fetched',
        )
      return {
        $typeName: 'chainguard.platform.auth.HeadlessSession' as const,
        ecdhPublicKey: new TextEncoder().encode(result.ecdhPublicKey),
        encryptedIdtoken: Buffer.from(result.encryptedIdToken, 'base64'),
      }
    },
  })
}
