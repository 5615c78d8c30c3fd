import { capabilitySetOf } from '@berth/contract/capabilities.ts'
import {
  type ImmutableTags,
  ImmutableTagsSchema,
  ListRetentionRunsResponseSchema,
  RepoPoliciesService,
  RepoPolicySchema,
  type RepoRetentionRun,
  RepoRetentionRunSchema,
  type Retention,
  type RetentionRule,
  RetentionSchema,
} from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { create, type DescMessage, equals, type MessageShape, toBinary } from '@bufbuild/protobuf'
import type { Duration } from '@bufbuild/protobuf/wkt'
import { type FieldViolation, failedPrecondition, invalidArgument } from '../../api/errors.ts'
import { requireEtagMatch } from '../../api/etag.ts'
import { requireValid } from '../../api/fields.ts'
import { applyUpdate, durationMs } from '../../api/messages.ts'
import { effectivePageSize } from '../../api/page-tokens.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireCapabilities, requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import { listJobRuns, readRunCounts, runFields } from '../../storage/jobs/job-run-lists.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import { nextUpdateMs } from '../../storage/resource-rows.ts'
import type { JobRunRow, RepoPolicyRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { retentionJob } from '../jobs.ts'
import { lockPolicy, policyBytes, readPolicy, toPolicy } from '../policies/policy-rows.ts'
import { checkPatterns } from '../policies/tag-patterns.ts'
import { previewRetention } from '../retention/preview.ts'
import { lockRepo, requireRepo } from './parent-repo.ts'

/** Policies of repos: read, set and preview them. retention.ts applies their retention rules, tags.ts the rest. */

const deleteCapabilities = capabilitySetOf([Capability.CAP_TAG_DELETE, Capability.CAP_MANIFEST_DELETE])

export function repoPoliciesService(store: Store) {
  const { db, clock, pageTokens } = store

  return implement(RepoPoliciesService, {
    async getRepoPolicy(_request, call) {
      const { scope } = requireScope(call)
      const repo = await requireRepo(db, scope)
      return toPolicy(repo, await readPolicy(db.kysely, scope))
    },

    async updateRepoPolicy({ repoPolicy: patch = create(RepoPolicySchema), updateMask }, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        // No tag moves meanwhile.
        const repo = await lockRepo(db, tx, scope)
        const row = await lockPolicy(db, tx, scope)
        const current = toPolicy(repo, row)
        requireEtagMatch(call, RepoPolicySchema, current, scope)
        const requested = applyUpdate(RepoPolicySchema, current, patch, updateMask?.paths)
        requireValid(...checkImmutable(requested.immutableTags), ...checkRetention(requested.retention))
        if (equals(RepoPolicySchema, current, requested))
          return { uid: scope, response: current, unchanged: true }
        const isEnabled = requested.retention?.enabled === true
        const isRetentionChanged = !equalsOptional(RetentionSchema, current.retention, requested.retention)
        // The next run may delete tags that were immutable.
        const mayDeleteMore =
          isRetentionChanged ||
          !equalsOptional(ImmutableTagsSchema, current.immutableTags, requested.immutableTags)
        if (isEnabled && mayDeleteMore)
          requireCapabilities(
            authorizationOf(call).grants,
            scope,
            deleteCapabilities,
            'enable what deletes tags and manifests',
          )
        const next: RepoPolicyRow = {
          root: rootOf(scope),
          uid: scope,
          policy: policyBytes(requested),
          updated_ms: nextUpdateMs(store, { updated_ms: Number(row?.updated_ms ?? repo.created_ms) }),
          due_ms: !isEnabled ? 0 : isRetentionChanged ? clock() : Number(row?.due_ms ?? 0),
          run: row?.run ?? new Uint8Array(0),
          requested_by:
            isEnabled && isRetentionChanged
              ? authorizationOf(call).caller.identity
              : (row?.requested_by ?? ''),
          // Ends a run that uses the old rules.
          runner: '',
          lease_ms: 0,
        }
        const { root, uid, ...changed } = next
        await tx
          .insertInto('repo_policies')
          .values(next)
          .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet(changed))
          .execute()
        return { uid: scope, response: toPolicy(repo, next) }
      })
    },

    async previewRetention(
      { retention: retentionOverride, immutableTags, deletedOnly, pageSize, pageToken },
      call,
    ) {
      const { scope } = requireScope(call)
      const repo = await requireRepo(db, scope)
      if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
      requireValid(...checkImmutable(immutableTags), ...checkRetention(retentionOverride))
      const row = await readPolicy(db.kysely, scope)
      const policy = toPolicy(repo, row)
      const retention = retentionOverride ?? policy.retention ?? create(RetentionSchema)
      const immutable = create(RepoPolicySchema, {
        immutableTags: immutableTags ?? policy.immutableTags,
        retention,
      })
      const rules = Buffer.from(toBinary(RepoPolicySchema, immutable)).toString('base64')
      const listKey = JSON.stringify([...callerBinding(call), scope, rules, deletedOnly])
      const after = readCursor(pageTokens, pageToken, listKey)?.after as [string, string] | undefined
      const { last, deletedManifests, ...page } = await previewRetention(
        store,
        { repo: scope, retention, immutable },
        { deletedOnly, after, size: effectivePageSize(pageSize) },
      )
      return {
        $typeName: 'berth.registry.v1.PreviewRetentionResponse' as const,
        ...page,
        deletedManifests: deletedManifests.size,
        nextPageToken:
          last === undefined ? '' : pageTokens.issue({ after: last, skip: 0, skipped: 0 }, listKey),
      }
    },

    async applyRetention(_request, call) {
      const { scope } = requireScope(call)
      return mutate(store, call, async (tx) => {
        const repo = await lockRepo(db, tx, scope)
        const row = await lockPolicy(db, tx, scope)
        if (row === undefined || Number(row.due_ms) === 0)
          throw failedPrecondition('RETENTION_DISABLED', `retention of repo ${scope} is not enabled`, scope)
        // Another time than that of a current run, so that one more run follows.
        const due_ms = Math.max(1, Math.min(clock(), Number(row.due_ms) - 1))
        await tx
          .updateTable('repo_policies')
          .set({ due_ms, requested_by: authorizationOf(call).caller.identity })
          .where('root', '=', row.root)
          .where('uid', '=', scope)
          .execute()
        return { uid: scope, response: toPolicy(repo, { ...row, due_ms }) }
      })
    },

    async listRetentionRuns(request, call) {
      const filter = { field: 'repo_uid', uid: request.repoUid }
      const { rows, ...page } = await listJobRuns(store, call, retentionJob, request, filter)
      return create(ListRetentionRunsResponseSchema, { retentionRuns: rows.map(toRetentionRun), ...page })
    },
  })
}

function toRetentionRun(row: JobRunRow): RepoRetentionRun {
  const { tags = 0, manifests = 0 } = readRunCounts(row)
  return create(RepoRetentionRunSchema, {
    ...runFields(row),
    repoUid: row.parent,
    deletedTags: tags,
    deletedManifests: manifests,
  })
}

function equalsOptional<T extends DescMessage>(
  schema: T,
  a: MessageShape<T> | undefined,
  b: MessageShape<T> | undefined,
): boolean {
  return a === undefined || b === undefined ? a === b : equals(schema, a, b)
}

function checkImmutable(tags: ImmutableTags | undefined): (FieldViolation | undefined)[] {
  if (tags === undefined) return []
  return [
    ...checkPatterns(tags.patterns, 'immutableTags.patterns'),
    ...checkPatterns(tags.exceptions, 'immutableTags.exceptions'),
  ]
}

function checkRetention(retention: Retention | undefined): (FieldViolation | undefined)[] {
  if (retention === undefined) return []
  const { rules, untaggedAfter } = retention
  if (rules.length > limits.retentionRulesMax)
    return [
      { field: 'retention.rules', description: `must have at most ${limits.retentionRulesMax} entries` },
    ]
  const names = rules.reduce((sum, { patterns }) => sum + patterns.length, 0)
  const { retentionPatternsMax } = limits
  return [
    names <= retentionPatternsMax
      ? undefined
      : {
          field: 'retention.rules',
          description: `must have at most ${retentionPatternsMax} patterns in all`,
        },
    ...rules.flatMap((rule, at) => checkRule(rule, `retention.rules[${at}]`)),
    checkAge(untaggedAfter, 'retention.untaggedAfter'),
  ]
}

function checkRule(
  { patterns, newest, youngerThan }: RetentionRule,
  field: string,
): (FieldViolation | undefined)[] {
  const isEmpty = patterns.length === 0 && newest === 0 && youngerThan === undefined
  return [
    isEmpty ? { field, description: 'must set patterns, newest or youngerThan' } : undefined,
    ...checkPatterns(patterns, `${field}.patterns`),
    newest >= 0 && newest <= limits.retentionNewestMax
      ? undefined
      : { field: `${field}.newest`, description: `must be from 0 to ${limits.retentionNewestMax}` },
    checkAge(youngerThan, `${field}.youngerThan`),
  ]
}

/** The age of tags or manifests that are deleted. */
export function checkAge(age: Duration | undefined, field: string): FieldViolation | undefined {
  if (age === undefined) return undefined
  const { retentionAgeMsMin: min, retentionAgeMsMax: max } = limits
  const ms = durationMs(age)
  if (ms !== undefined && ms >= min && ms <= max) return undefined
  return { field, description: `must be from ${min / 1000}s to ${max / 1000}s` }
}
