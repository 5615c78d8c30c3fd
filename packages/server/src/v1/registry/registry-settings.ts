import {
  type Registry,
  type RegistrySettings,
  RegistrySettingsSchema,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument, notFound } from '../../api/errors.ts'
import { rootOf } from '../../api/uid.ts'
import { GROUP_TYPE, lockGroup } from '../../iam/groups/parent-group.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Call, Handlers } from '../../pipeline/call.ts'
import { readCopySettings } from '../../registry/resources/registry-settings.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Reader } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'

/** The copy settings of an organization in version 1. */

type Names = 'getRegistrySettings' | 'updateRegistrySettings'

export function registrySettingsHandlers(store: Store): Required<Pick<Handlers<typeof Registry>, Names>> {
  const { db } = store

  return {
    async getRegistrySettings(_request, call) {
      const organization = organizationOf(call)
      if ((await readResource(db, 'groups', organization)) === undefined)
        throw notFound(GROUP_TYPE, organization)
      return readSettings(db.kysely, organization)
    },

    async updateRegistrySettings({ uniqueTags, eolGracePeriod }, call) {
      const organization = organizationOf(call)
      return mutate(store, call, async (tx) => {
        await lockGroup(db, tx, organization)
        const current = await readSettings(tx, organization)
        if (current.uniqueTags === uniqueTags && current.eolGracePeriod === eolGracePeriod)
          return { uid: organization, response: current, unchanged: true }
        const settings = { unique_tags: Number(uniqueTags), grace_period: Number(eolGracePeriod) }
        await tx
          .insertInto('registry_settings')
          .values({ root: organization, ...settings })
          .onConflict((conflict) => conflict.column('root').doUpdateSet(settings))
          .execute()
        return { uid: organization, response: { ...current, uniqueTags, eolGracePeriod } }
      })
    },
  }
}

function organizationOf(call: Call): string {
  const { scope } = requireScope(call)
  if (scope !== rootOf(scope)) throw invalidArgument('registryId', 'must be the id of an organization')
  return scope
}

async function readSettings(reader: Reader, organization: string): Promise<RegistrySettings> {
  const { uniqueTags, gracePeriod } = (await readCopySettings(reader, [organization]))(organization)
  return create(RegistrySettingsSchema, {
    registryId: organization,
    uniqueTags,
    eolGracePeriod: gracePeriod,
  })
}
