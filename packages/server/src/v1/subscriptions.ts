import {
  SubscriptionListSchema,
  Subscriptions,
} from '@berth/contract/gen/chainguard/platform/events/subscriptions_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound, unimplemented } from '../api/errors.ts'
import { requireScope } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'

/** Subscriptions to events. None are sent, so nobody can be subscribed; what happened is in the audit log. */

const TYPE = 'events.chainguard.dev/Subscription'

export const subscriptionsService = implement(Subscriptions, {
  async create() {
    throw unimplemented('this server sends no events; the audit log tells what happened')
  },

  list: async () => create(SubscriptionListSchema),

  async delete(_request, call) {
    const { scope } = requireScope(call)
    throw notFound(TYPE, scope)
  },
})
