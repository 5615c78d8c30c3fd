import { isEcosystem } from '@berth/advisory-formats/osv/ecosystems.ts'
import {
  type AdvisoryPublication,
  AdvisoryPublicationSchema,
  AdvisoryPublicationsService,
} from '@berth/contract/gen/berth/vulnerabilities/v1/publications_pb.js'
import { timestampMs } from '@berth/contract/timestamp-text.ts'
import { create, equals } from '@bufbuild/protobuf'
import { type FieldViolation, notFound } from '../../api/errors.ts'
import { requireEtagMatch } from '../../api/etag.ts'
import { requireValid } from '../../api/fields.ts'
import { applyUpdate, timestampOf } from '../../api/messages.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { GROUP_TYPE, lockGroup } from '../../iam/groups/parent-group.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import { implement } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Store } from '../../storage/store.ts'
import { readPublicationState } from '../publish/publication-state.ts'
import { type StoredPublication, serializePublication } from '../publish/stored-publication.ts'
import { lockAdvisories } from '../storage/advisory-groups.ts'

/** The API of publications: who can read what a group publishes, and its settings. */

export function advisoryPublicationsService(store: Store) {
  const { db, clock } = store

  return implement(AdvisoryPublicationsService, {
    async getAdvisoryPublication(_request, call) {
      const { scope } = requireScope(call)
      return publicationAt(scope as Uid)
    },

    async updateAdvisoryPublication(
      { advisoryPublication: patch = create(AdvisoryPublicationSchema), updateMask },
      call,
    ) {
      const group = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, group)
        await lockAdvisories(tx, group)
        const current = await publicationAt(group, tx)
        requireEtagMatch(call, AdvisoryPublicationSchema, current, group)
        const next = applyUpdate(AdvisoryPublicationSchema, current, patch, updateMask?.paths)
        if (equals(AdvisoryPublicationSchema, current, next))
          return { uid: group, response: current, unchanged: true }
        requireValid(...violationsIn(next))
        const now = clock()
        const updatedMs = Math.max(now, current.updateTime ? timestampMs(current.updateTime) + 1 : 0)
        await tx
          .updateTable('advisory_groups')
          .set((row) => ({
            public: next.public ? 1 : 0,
            publication: serializePublication(settingsOf(next, updatedMs)),
            revision: row('revision', '+', 1),
            changed_ms: now,
          }))
          .where('root', '=', rootOf(group))
          .where('uid', '=', group)
          .execute()
        return { uid: group, response: await publicationAt(group, tx) }
      })
    },
  })

  async function publicationAt(group: Uid, tx = db.kysely): Promise<AdvisoryPublication> {
    const state = await readPublicationState(tx, group)
    if (state === undefined) throw notFound(GROUP_TYPE, group)
    const { isPublic, publicThrough, changedMs, updatedMs, publication } = state
    const { secdb, distribution } = publication
    return create(AdvisoryPublicationSchema, {
      uid: group,
      public: isPublic,
      publicThrough: publicThrough ?? '',
      securityDatabase: { ...secdb, archs: [...secdb.archs] },
      distribution,
      updateTime: timestampOf(updatedMs),
      ...(changedMs > 0 && { changeTime: timestampOf(changedMs) }),
    })
  }
}

function settingsOf(
  { securityDatabase, distribution }: AdvisoryPublication,
  updatedMs: number,
): StoredPublication {
  const {
    apkurl = '',
    archs = [],
    reponame = '',
    urlprefix = '',
    distroversion = '',
  } = securityDatabase ?? {}
  const { ecosystem = '', namespace = '' } = distribution ?? {}
  return {
    secdb: { apkurl, archs, reponame, urlprefix, distroversion },
    distribution: { ecosystem, namespace },
    updatedMs,
  }
}

function violationsIn({
  securityDatabase,
  distribution,
}: AdvisoryPublication): (FieldViolation | undefined)[] {
  const { archs = [] } = securityDatabase ?? {}
  const { ecosystem = '', namespace = '' } = distribution ?? {}
  const texts = (['apkurl', 'reponame', 'urlprefix', 'distroversion'] as const).map(
    (name) => [`securityDatabase.${name}`, securityDatabase?.[name] ?? '', limits.nameCharsMax] as const,
  )
  const each = archs.map(
    (arch, at) => [`securityDatabase.archs[${at}]`, arch, limits.architectureCharsMax] as const,
  )
  return [
    ...[...texts, ...each].map(([field, text, max]) =>
      text.length <= max ? undefined : { field, description: `must have at most ${max} characters` },
    ),
    archs.length <= limits.publicationArchitecturesMax
      ? undefined
      : {
          field: 'securityDatabase.archs',
          description: `must have at most ${limits.publicationArchitecturesMax} entries`,
        },
    ecosystem.length <= limits.nameCharsMax && isEcosystem(ecosystem)
      ? undefined
      : {
          field: 'distribution.ecosystem',
          description: 'must be an OSV ecosystem, such as Wolfi or Alpine:v3.20',
        },
    /^[a-z0-9][a-z0-9.+-]{0,63}$/.test(namespace)
      ? undefined
      : {
          field: 'distribution.namespace',
          description: 'must be 1 to 64 lowercase letters, digits, dots, plus signs and hyphens',
        },
  ]
}
