import {
  ApkoConfig_Accounts_GroupSchema,
  ApkoConfig_Accounts_UserSchema,
  ApkoConfig_AccountsSchema,
  CatalogTierSchema,
  CustomOverlaySchema,
  RepoSchema,
  SyncConfigSchema,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import {
  CustomOverlay_Accounts_GroupSchema,
  CustomOverlay_Accounts_UserSchema,
  CustomOverlay_AccountsSchema,
  CatalogTierSchema as NewCatalogTierSchema,
  CustomOverlaySchema as NewCustomOverlaySchema,
  RepoSchema as NewRepoSchema,
  SyncConfigSchema as NewSyncConfigSchema,
} from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { enumMapping } from '../mapping/enum-mapping.ts'
import { type Conversion, createMapping, nestedMessage, repeatedField } from '../mapping/message-mapping.ts'

/** Maps repos of version 1. The README, which newer services have separately, is not included. */

/** Numbers that are too large become negative, which every check rejects. */
const numericId: Conversion = {
  toV2: (old) => (old as number) | 0,
  toV1: (next) => next,
}

const accountsMapping = createMapping(ApkoConfig_AccountsSchema, CustomOverlay_AccountsSchema, [
  [
    'groups',
    'groups',
    repeatedField(
      nestedMessage(
        createMapping(ApkoConfig_Accounts_GroupSchema, CustomOverlay_Accounts_GroupSchema, [
          ['gid', 'gid', numericId],
          ['groupName', 'groupname'],
          'members',
        ]),
      ),
    ),
  ],
  [
    'users',
    'users',
    repeatedField(
      nestedMessage(
        createMapping(ApkoConfig_Accounts_UserSchema, CustomOverlay_Accounts_UserSchema, [
          ['uid', 'uid', numericId],
          ['userName', 'username'],
          ['gid', 'gid', numericId],
          'groupName',
          'shell',
          'homeDir',
        ]),
      ),
    ),
  ],
  'runAs',
])

const customOverlayMapping = createMapping(CustomOverlaySchema, NewCustomOverlaySchema, [
  'contents',
  'environment',
  'annotations',
  ['accounts', 'accounts', nestedMessage(accountsMapping)],
  'certificates',
])

const syncConfigMapping = createMapping(
  SyncConfigSchema,
  NewSyncConfigSchema,
  [
    'source',
    'uniqueTags',
    ['expiration', 'expirationTime'],
    'google',
    'amazon',
    'azure',
    'apkoOverlay',
    'gracePeriod',
  ],
  { ignored: ['syncApks'] },
)

export const repoMapping = createMapping(
  RepoSchema,
  NewRepoSchema,
  [
    ['id', 'uid'],
    'name',
    'description',
    ['catalogTier', 'catalogTier', enumMapping(CatalogTierSchema, NewCatalogTierSchema, 'catalogTier')],
    'bundles',
    ['syncConfig', 'syncConfig', nestedMessage(syncConfigMapping)],
    ['customOverlay', 'customOverlay', nestedMessage(customOverlayMapping)],
    'aliases',
    'createTime',
    'activeTags',
  ],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' }, ignored: ['readme'] },
)
