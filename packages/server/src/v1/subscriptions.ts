import {
  SubscriptionListSchema,
  Subscriptions,
} from '@berth/contract/gen/chainguard/platform/events/subscriptions_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound, unimplemented } from '../api/errors.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'

/** Subscriptions to events. The server sends no events, so there are no subscriptions; the audit log records what happened. */

const TYPE = 'events.chainguard.dev/Subscription'

export const subscriptionsService = implement(Subscriptions, {
  async create() {
    throw unimplemented('this server sends no events; the audit log records what happened')
  },

  list: async () => create(SubscriptionListSchema),

  async delete(_request, call) {
    const { scope } = requireScope(call)
    throw notFound(TYPE, scope)
  },
})
