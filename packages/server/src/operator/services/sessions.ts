import {
  EndIdentitySessionsResponseSchema,
  ListSessionsResponseSchema,
  type OperatorSession,
  OperatorSessionSchema,
  OperatorSessionsService,
  SessionKind,
} from '@berth/contract/gen/berth/operator/v1/sessions_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { callActor } from '../actor.ts'
import { listSessions, revokeSessions, SessionNotFound, type SessionSummary } from '../sessions.ts'
import { type OperatorContext, operatorService, recently } from './context.ts'
import { readPage } from './pages.ts'

/** Sessions of users, for operators. */

const kinds: Readonly<Record<string, SessionKind>> = {
  browser: SessionKind.BROWSER,
  client: SessionKind.CLIENT,
}

export function operatorSessionsService(context: OperatorContext): ServiceImplementation {
  const { store } = context
  return operatorService(context, OperatorSessionsService, {
    async listSessions(request, call) {
      const identity = request.identityUid === '' ? undefined : requireUid(request.identityUid)
      const { rows, nextPageToken } = await readPage(
        store,
        call,
        request,
        [identity ?? ''],
        ({ max, after: [lastUsedMs, id] = [] }) =>
          listSessions(
            { store },
            {
              identity,
              max,
              after: id === undefined ? undefined : { lastUsedMs: Number(lastUsedMs), id: String(id) },
            },
          ),
        ({ lastUsedMs, id }) => [lastUsedMs, id],
      )
      const { session } = authorizationOf(call).caller
      return create(ListSessionsResponseSchema, {
        sessions: rows.map((row) => toMessage(row, session)),
        nextPageToken,
      })
    },
    endSession: recently(context, async ({ id }, call) => {
      try {
        await revokeSessions({ store }, { id }, callActor(store, call))
      } catch (error) {
        throw error instanceof SessionNotFound
          ? notFound('operator.berth.dev/Session', id, `session ${id} does not exist`)
          : error
      }
      return create(EmptySchema)
    }),
    endIdentitySessions: recently(context, async ({ identityUid }, call) => {
      const which = { identity: requireUid(identityUid) }
      const ended = await revokeSessions({ store }, which, callActor(store, call))
      return create(EndIdentitySessionsResponseSchema, { ended })
    }),
  })
}

function requireUid(text: string): Uid {
  const uid = parseUid(text)
  if (uid === undefined) throw invalidArgument('identity_uid', 'must be the uid of an identity')
  return uid
}

function toMessage(row: SessionSummary, own: string | undefined): OperatorSession {
  return create(OperatorSessionSchema, {
    id: row.id,
    kind: kinds[row.kind] ?? SessionKind.UNSPECIFIED,
    identityUid: row.identity,
    user: row.person,
    method: row.method,
    vouchedBy: row.vouchedBy,
    identityProviderUid: row.identityProvider,
    client: row.client,
    userAgent: row.userAgent,
    address: row.address,
    createTime: timestampOf(row.createdMs),
    lastUsedTime: timestampOf(row.lastUsedMs),
    expireTime: timestampOf(row.expiresMs),
    current: row.id === own,
  })
}
