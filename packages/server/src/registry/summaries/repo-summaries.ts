import { type CapabilitySet, capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import {
  RepoSummariesService,
  type RepoSummary,
  RepoSummarySchema,
} from '@berth/contract/gen/berth/registry/v1/repo_summaries_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create } from '@bufbuild/protobuf'
import { notFound } from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { parentOf } from '../../api/uid.ts'
import { authorizationOf, requireScope } from '../../pipeline/authorization.ts'
import { type Call, implement } from '../../pipeline/call.ts'
import { type ListRequest, listPage } from '../../storage/list/list.ts'
import { startsWith } from '../../storage/list/prefix-condition.ts'
import { readResource } from '../../storage/resource-rows.ts'
import { resourceType, sortFieldsOf } from '../../storage/resources/declared-resource.ts'
import type { RepoRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { readPublicScopes } from '../visibility/public-scopes.ts'
import { readPolicyFlags, readRepoTotals, repoTotalColumns, repoTotalFields } from './repo-totals.ts'

/** Summaries of repos: what lists of repos show, in a constant number of statements for a page. */

const tagList = capabilitySetOf([Capability.CAP_TAG_LIST])
const manifestList = capabilitySetOf([Capability.CAP_MANIFEST_LIST])

export function repoSummariesService(store: Store) {
  const { db } = store

  const summarize = async (call: Call, rows: readonly RepoRow[]): Promise<RepoSummary[]> => {
    const { grants } = authorizationOf(call)
    const holding = (needed: CapabilitySet) =>
      rows.map(({ uid }) => uid).filter((uid) => includesAll(grants.at(uid), needed))
    const uids = rows.map(({ uid }) => uid)
    const [totals, flags, publicFrom] = await Promise.all([
      readRepoTotals(db, { tags: holding(tagList), manifests: holding(manifestList) }),
      readPolicyFlags(db, uids),
      readPublicScopes(db, uids.map(parentOf)),
    ])
    return rows.map(({ uid, name, description, created_ms, updated_ms }) => {
      const from = publicFrom(parentOf(uid))
      const { lastPushMs, ...counted } = totals.get(uid) ?? {}
      return create(RepoSummarySchema, {
        uid,
        name,
        description,
        createTime: timestampOf(Number(created_ms)),
        updateTime: timestampOf(Number(updated_ms)),
        ...counted,
        ...(lastPushMs !== undefined && { lastPushTime: timestampOf(lastPushMs) }),
        public: from !== undefined,
        publicFrom: from ?? '',
        immutableTags: flags.get(uid)?.immutableTags === true,
        retentionEnabled: flags.get(uid)?.retentionEnabled === true,
      })
    })
  }

  return implement(RepoSummariesService, {
    async getRepoSummary(_request, call) {
      const { scope } = requireScope(call)
      const row = await readResource(db, 'repos', scope)
      if (row === undefined) throw notFound(resourceType(RepoSummarySchema), scope)
      return (await summarize(call, [row]))[0] as RepoSummary
    },

    async listRepoSummaries(request, call) {
      const { rows, ...page } = await listPage(store, call, request as ListRequest, {
        table: 'repos',
        sortFields: sortFieldsOf(RepoSummarySchema, repoTotalFields),
        defaultOrder: 'uid',
        computed: repoTotalColumns(authorizationOf(call).grants.scopesHolding(manifestList)),
        equals: { name: request.name },
        conditions: startsWith('name', request.namePrefix),
      })
      return {
        $typeName: 'berth.registry.v1.ListRepoSummariesResponse' as const,
        repoSummaries: await summarize(call, rows),
        ...page,
      }
    },
  })
}
