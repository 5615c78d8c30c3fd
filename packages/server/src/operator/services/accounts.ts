import {
  AccountKind,
  type AccountLink,
  AccountLinkSchema,
  ListAccountsResponseSchema,
  type OperatorAccount,
  OperatorAccountSchema,
  OperatorAccountsService,
} from '@berth/contract/gen/berth/operator/v1/accounts_pb.js'
import { EmptySchema } from '@berth/contract/gen/google/protobuf/empty_pb.js'
import { create } from '@bufbuild/protobuf'
import {
  alreadyExists,
  failedPrecondition,
  invalidArgument,
  invalidArguments,
  notFound,
  permissionDenied,
} from '../../api/errors.ts'
import { timestampOf } from '../../api/messages.ts'
import { parseUid, rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, isPlatformAdministrator } from '../../pipeline/authorization.ts'
import type { Call, ServiceImplementation } from '../../pipeline/call.ts'
import { type Account, accountOfIdentity, checkAccount } from '../../signin/accounts/accounts.ts'
import { createPasswordLink } from '../../signin/accounts/one-time-links.ts'
import type { Tx } from '../../storage/db.ts'
import {
  AccountExists,
  addAccount,
  disableAccount,
  type FindAccount,
  removeAccount,
  resetAccount,
} from '../accounts.ts'
import { callActor } from '../actor.ts'
import { listUsers, type UserFilter, type UserRow } from '../user-list.ts'
import { type OperatorContext, operatorService, recently } from './context.ts'
import { readPage } from './pages.ts'

/** Users and local accounts, for operators. */

const TYPE = 'operator.berth.dev/Account'

const kinds: Readonly<Record<AccountKind, UserFilter['kind']>> = {
  [AccountKind.UNSPECIFIED]: undefined,
  [AccountKind.LOCAL]: 'local',
  [AccountKind.PROVIDER]: 'provider',
  [AccountKind.NONE]: 'none',
}

export function operatorAccountsService(context: OperatorContext): ServiceImplementation {
  const { store, addresses } = context

  const readUser = async (uid: string): Promise<OperatorAccount> => {
    const [row] = await listUsers(store, { uid }, { max: 1 })
    if (row === undefined) throw notFound(TYPE, uid)
    return toMessage(row)
  }
  const linkTo = async (account: Account): Promise<AccountLink> =>
    create(AccountLinkSchema, {
      localAccount: await readUser(account.identity_uid),
      link: await createPasswordLink(store, addresses.authUrl, account),
      expireTime: timestampOf(store.clock() + limits.setupLinkMs),
    })
  const setSuspended = (isSuspended: boolean) =>
    recently(context, async ({ uid }: { readonly uid: string }, call) => {
      const find = isSuspended ? findOther(call, uid, 'suspend') : findAccount(call, uid)
      await disableAccount(store, callActor(store, call), find, isSuspended)
      return readUser(uid)
    })

  return operatorService(context, OperatorAccountsService, {
    async listAccounts(request, call) {
      const { query, kind, suspended } = request
      const filter = { query: query.trim(), kind: kinds[kind], suspended }
      const { rows, nextPageToken } = await readPage(
        store,
        call,
        request,
        [filter],
        (page) => listUsers(store, filter, page),
        ({ sort, uid }) => [sort, uid],
      )
      return create(ListAccountsResponseSchema, { accounts: rows.map(toMessage), nextPageToken })
    },

    createAccount: recently(context, async ({ email, name }, call) => {
      const fields = { email: email.trim(), name: name === '' ? email.trim() : name }
      const violation = checkAccount(fields)
      if (violation !== undefined) throw invalidArguments([violation])
      const account = await addAccount(store, callActor(store, call), {
        ...fields,
        authUrl: addresses.authUrl,
      }).catch((error: unknown) => {
        throw error instanceof AccountExists
          ? alreadyExists(TYPE, fields.email, `an account with the email address ${fields.email} exists`)
          : error
      })
      return linkTo(account)
    }),

    resetAccountPassword: recently(context, async ({ uid, removePasskeys }, call) => {
      const find = findAccount(call, uid)
      return linkTo(await resetAccount(store, callActor(store, call), find, { passkeys: removePasskeys }))
    }),

    suspendAccount: setSuspended(true),
    activateAccount: setSuspended(false),

    deleteAccount: recently(context, async ({ uid }, call) => {
      await removeAccount(store, callActor(store, call), findOther(call, uid, 'delete'))
      return create(EmptySchema)
    }),
  })
}

/**
 * Finds an account in the transaction of its change. Throws code 7 for the account of an administrator of the platform, unless the caller is one:
 * the link that resets a password gives everything that its user holds (R19).
 */
function findAccount(call: Call, uid: string): FindAccount {
  const identity = requireUserUid(uid)
  return async (tx) => {
    const account = await accountOfIdentity(tx, identity)
    if (account === undefined) throw notFound(TYPE, identity)
    const isAdministrator = isPlatformAdministrator(authorizationOf(call).grants)
    if (!isAdministrator && (await hasPlatformRole(tx, identity)))
      throw permissionDenied(
        'only an administrator of the platform can change the account of an operator. Use berth admin accounts on the server',
        '',
      )
    return account
  }
}

/** As findAccount, for what a caller must not do to the own account by mistake. */
function findOther(call: Call, uid: string, action: string): FindAccount {
  if (uid === authorizationOf(call).caller.identity)
    throw failedPrecondition('OWN_ACCOUNT', `you cannot ${action} your own account here`, uid)
  return findAccount(call, uid)
}

function requireUserUid(text: string): Uid {
  const uid = parseUid(text)
  if (uid === undefined || rootOf(uid) !== uid)
    throw invalidArgument('uid', 'must be the uid of a user: 40 hex digits')
  return uid
}

async function hasPlatformRole(tx: Tx, identity: string): Promise<boolean> {
  const rows = await tx
    .selectFrom('platform_bindings')
    .select('role_uid')
    .where('identity_uid', '=', identity)
    .limit(1)
    .execute()
  return rows.length > 0
}

function toMessage(row: UserRow): OperatorAccount {
  const time = (ms: number | string | null) =>
    ms === null || Number(ms) === 0 ? {} : { at: timestampOf(Number(ms)) }
  const signedIn = time(row.signed_in_ms).at
  const seen = time(row.last_seen_ms).at
  return create(OperatorAccountSchema, {
    uid: row.uid,
    name: row.name,
    email: row.email,
    kind:
      row.account !== null ? AccountKind.LOCAL : row.issuer === '' ? AccountKind.NONE : AccountKind.PROVIDER,
    issuer: row.account === null ? row.issuer : '',
    hasPassword: Number(row.has_password) !== 0,
    passkeyCount: Number(row.passkeys),
    passkeyRequired: Number(row.passkey_required) !== 0,
    suspended: Number(row.disabled) !== 0,
    operator: Number(row.is_operator) !== 0,
    sessionCount: Number(row.sessions),
    ...(signedIn === undefined ? {} : { lastSignInTime: signedIn }),
    ...(seen === undefined ? {} : { lastSeenTime: seen }),
    createTime: timestampOf(Number(row.created_ms)),
  })
}
