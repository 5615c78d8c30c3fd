import {
  ApkoConfig_Accounts_GroupSchema,
  ApkoConfig_Accounts_UserSchema,
  ApkoConfig_AccountsSchema,
  CatalogTierSchema,
  CustomOverlaySchema,
  RepoSchema,
  SyncConfigSchema,
} from '#gen/chainguard/platform/registry/registry_pb.js'
import {
  CustomOverlay_Accounts_GroupSchema,
  CustomOverlay_Accounts_UserSchema,
  CustomOverlay_AccountsSchema,
  CatalogTierSchema as NewCatalogTierSchema,
  CustomOverlaySchema as NewCustomOverlaySchema,
  RepoSchema as NewRepoSchema,
  SyncConfigSchema as NewSyncConfigSchema,
} from '#gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { enumWords } from './enum-words.ts'
import { type Conversion, each, inner, wording } from './wording.ts'

/** How version 1 says what a repo is. The page that introduces it, which newer ones have apart, is not among this. */

/** Numbers that are too large become negative, which no rule lets pass. */
const numericId: Conversion = {
  toNew: (old) => (old as number) | 0,
  toOld: (next) => next,
}

const accounts = wording(ApkoConfig_AccountsSchema, CustomOverlay_AccountsSchema, [
  [
    'groups',
    'groups',
    each(
      inner(
        wording(ApkoConfig_Accounts_GroupSchema, CustomOverlay_Accounts_GroupSchema, [
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
    each(
      inner(
        wording(ApkoConfig_Accounts_UserSchema, CustomOverlay_Accounts_UserSchema, [
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

const customOverlay = wording(CustomOverlaySchema, NewCustomOverlaySchema, [
  'contents',
  'environment',
  'annotations',
  ['accounts', 'accounts', inner(accounts)],
  'certificates',
])

const syncConfig = wording(
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
  { without: ['syncApks'] },
)

export const repoWords = wording(
  RepoSchema,
  NewRepoSchema,
  [
    ['id', 'uid'],
    'name',
    'description',
    ['catalogTier', 'catalogTier', enumWords(CatalogTierSchema, NewCatalogTierSchema, 'catalogTier')],
    'bundles',
    ['syncConfig', 'syncConfig', inner(syncConfig)],
    ['customOverlay', 'customOverlay', inner(customOverlay)],
    'aliases',
    'createTime',
    'activeTags',
  ],
  { jsonOnly: { createdAt: 'createTime', updatedAt: 'updateTime' }, without: ['readme'] },
)
