import {
  CheckInstallationResponseSchema,
  CheckOutcome,
  ListNodesResponseSchema,
  OperatorNodesService,
} from '@berth/contract/gen/berth/operator/v1/nodes_pb.js'
import { create } from '@bufbuild/protobuf'
import { aborted } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { limits } from '../../config/limits.ts'
import type { ServiceImplementation } from '../../pipeline/call.ts'
import { nodeNames, readNodes } from '../../storage/jobs/nodes.ts'
import { migrationState, readAppliedMigrations } from '../../storage/schema/migrate.ts'
import { checkRunningInstallation } from '../check.ts'
import { type OperatorContext, operatorService } from './context.ts'

/** Nodes of the installation and checks of its setup, for operators. */

const outcomes = { ok: CheckOutcome.OK, warn: CheckOutcome.WARNING, fail: CheckOutcome.FAILED } as const

export function operatorNodesService(context: OperatorContext): ServiceImplementation {
  const { store, config, log } = context
  const { db, clock } = store
  let isChecking = false
  return operatorService(context, OperatorNodesService, {
    async listNodes() {
      const now = clock()
      const nodes = await readNodes(db.kysely)
      return create(ListNodesResponseSchema, {
        nodes: nodes.map((node) => {
          const isCurrent = node.id === db.node
          const seenMs = isCurrent ? now : Number(node.seen_ms)
          return {
            id: node.id,
            name: node.name,
            version: node.version,
            baseUrl: node.base_url,
            listenAddress: node.listen_address,
            startTime: timestampOf(Number(node.started_ms)),
            lastSeenTime: timestampOf(seenMs),
            online: now - seenMs <= limits.nodeOnlineMs,
            current: isCurrent,
          }
        }),
        database: db.engine,
        migrations: await readAppliedMigrations(db),
        unknownMigrations: [...(await migrationState(db)).unknown],
      })
    },
    async checkInstallation() {
      if (isChecking) throw aborted('another check runs on this node; try again when it has ended')
      isChecking = true
      try {
        const results = await checkRunningInstallation(config, db, log)
        return create(CheckInstallationResponseSchema, {
          results: results.map(({ name, result, message, action }) => ({
            name,
            outcome: outcomes[result],
            message,
            action,
          })),
          nodeName: nodeNames(await readNodes(db.kysely))(db.node),
          checkTime: timestampOf(clock()),
        })
      } finally {
        isChecking = false
      }
    },
  })
}
