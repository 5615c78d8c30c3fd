import { create, equals } from '@bufbuild/protobuf'
import {
  type AdvisoryPublication,
  AdvisoryPublicationSchema,
  AdvisoryPublicationsService,
} from '#gen/berth/vulnerabilities/v1/publications_pb.js'
import { allowed } from '../../core/allowed.ts'
import { implement } from '../../core/call.ts'
import { type FieldViolation, notFound } from '../../core/errors.ts'
import { requireMatch } from '../../core/etag.ts'
import { refuseIfAny } from '../../core/fields.ts'
import { limits } from '../../core/limits.ts'
import { timestampMs, timestampOf, updated } from '../../core/message.ts'
import { rootOf, type Uid } from '../../core/uid.ts'
import { GROUP_TYPE, holdGroup } from '../../iam/parent-group.ts'
import { mutate } from '../../storage/mutation.ts'
import type { Store } from '../../storage/store.ts'
import { holdAdvisories } from '../advisory-groups.ts'
import { isEcosystem } from './ecosystems.ts'
import { feedState } from './feed-state.ts'
import { type StoredPublication, storedText } from './stored-publication.ts'

/** Publications: who may read what a group publishes, and what it says of itself. */

export function advisoryPublicationsService(store: Store) {
  const { db, clock } = store

  return implement(AdvisoryPublicationsService, {
    async getAdvisoryPublication(_request, call) {
      const { scope } = allowed(call)
      return publicationAt(scope as Uid)
    },

    async updateAdvisoryPublication(
      { advisoryPublication: patch = create(AdvisoryPublicationSchema), updateMask },
      call,
    ) {
      const group = allowed(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await holdGroup(db, tx, group)
        await holdAdvisories(tx, group)
        const current = await publicationAt(group, tx)
        requireMatch(call, AdvisoryPublicationSchema, current, group)
        const next = updated(AdvisoryPublicationSchema, current, patch, updateMask?.paths)
        if (equals(AdvisoryPublicationSchema, current, next))
          return { uid: group, answer: current, unchanged: true }
        refuseIfAny(...violationsIn(next))
        const now = clock()
        const updatedMs = Math.max(now, current.updateTime ? timestampMs(current.updateTime) + 1 : 0)
        await tx
          .updateTable('advisory_groups')
          .set((row) => ({
            public: next.public ? 1 : 0,
            publication: storedText(settingsOf(next, updatedMs)),
            revision: row('revision', '+', 1),
            changed_ms: now,
          }))
          .where('root', '=', rootOf(group))
          .where('uid', '=', group)
          .execute()
        return { uid: group, answer: await publicationAt(group, tx) }
      })
    },
  })

  async function publicationAt(group: Uid, tx = db.kysely): Promise<AdvisoryPublication> {
    const state = await feedState(tx, group)
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
          description: 'must be an ecosystem of OSV, such as Wolfi or Alpine:v3.20',
        },
    /^[a-z0-9][a-z0-9.+-]{0,63}$/.test(namespace)
      ? undefined
      : {
          field: 'distribution.namespace',
          description: 'must be 1 to 64 lower-case letters, digits, dots, plus signs and hyphens',
        },
  ]
}
