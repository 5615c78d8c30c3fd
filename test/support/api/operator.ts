import assert from 'node:assert/strict'
import { operatorRole } from '@berth/server/iam/managed-roles.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createPerson, createSession } from '../signin/accounts.ts'
import { localAccount } from '../signin/local-accounts.ts'
import { newName } from './api-fixture.ts'
import { call, type RestReply } from './rest.ts'

/** The operator API as one caller sees it. Paths are those below /operator/v1. */
export interface OperatorApi {
  readonly token: string
  get(path: string): Promise<RestReply>
  post(path: string, body?: unknown): Promise<RestReply>
  delete(path: string): Promise<RestReply>
}

export function operatorApi({ url }: Pick<TestBerth, 'url'>, token: string): OperatorApi {
  const send = (method: string, path: string, body?: unknown) =>
    call(method, `${url}/operator/v1/${path}`, { token, body })
  return {
    token,
    get: (path) => send('GET', path),
    post: (path, body = {}) => send('POST', path, body),
    delete: (path) => send('DELETE', path),
  }
}

/** Checks the status, the code and, if it matters, the text of a failure. */
export function assertFails(reply: RestReply, status: number, code: number, text = /./): void {
  assert.deepEqual([reply.status, reply.body?.code], [status, code], reply.text)
  assert.match(reply.text, text)
}

/** Gives an identity the role `operator` on the platform. */
export async function makeOperator({ berth }: Pick<TestBerth, 'berth'>, identity: string): Promise<void> {
  await inTransaction(berth.installation.store.db, (tx) =>
    tx
      .insertInto('platform_bindings')
      .values({ identity_uid: identity, role_uid: operatorRole.uid })
      .execute(),
  )
}

/** A user with the role `operator`, without any other, signed in just now in a browser. */
export async function createOperator(berth: TestBerth) {
  const identity = await createPerson(berth)
  await makeOperator(berth, identity)
  const session = async (kind: 'browser' | 'client') => {
    const { id } = await createSession(
      berth,
      { identity, method: 'password', voucher: { kind: 'account' } },
      { kind },
    )
    return { id, api: operatorApi(berth, await berth.tokenOf(identity, { session: id })) }
  }
  return { identity, session, ...(await session('browser')) }
}

export const newAccount = (berth: TestBerth) => localAccount(berth, `${newName('ada')}@example.com`)
