import { generateKeyPairSync } from 'node:crypto'
import { recordEvent } from '@berth/server/storage/changes/audit-events.ts'
import { inTransaction, openSqliteDb } from '@berth/server/storage/db.ts'
import { generateSecret, hashSecret } from '@berth/server/storage/pending-store.ts'
import { signJwt } from '@berth/server/tokens/jwt/sign-jwt.ts'
import { startSession } from '@berth/server/tokens/sessions/sessions.ts'
import { CALLER } from '../dataset.ts'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/** Baseline: a session's secret replaced and the event of it, committed durably every time, and one token signed. */

const { file } = JSON.parse(process.argv[2] ?? '') as { file: string }
const db = await openSqliteDb(file)
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const session = await inTransaction(db, (tx) =>
  startSession({ clock: Date.now }, tx, {
    identity: CALLER,
    method: 'password',
    voucher: { kind: 'operator' },
    groups: [],
    kind: 'client',
    client: 'bench',
    audiences: [],
    address: '127.0.0.1',
    userAgent: '',
    lifetimeMs: 24 * 60 * 60 * 1000,
  }),
)
let secret = session.secret

async function rotateOne(): Promise<void> {
  const next = generateSecret()
  await inTransaction(db, async (tx) => {
    await tx
      .updateTable('sessions')
      .set({ secret_hash: hashSecret(next), last_used_ms: Date.now() })
      .where('id', '=', session.id)
      .where('secret_hash', '=', hashSecret(secret))
      .execute()
    await recordEvent(tx, {
      timeMs: Date.now(),
      actor: CALLER,
      method: 'bench',
      uid: CALLER,
      requestId: '',
      address: '127.0.0.1',
    })
  })
  secret = next
  await signJwt({ kid: 'key', algorithm: 'ES256', key: privateKey }, 'at+jwt', { sub: CALLER })
}

serveParent(undefined, { run: (request: LoopRequest) => loop(request, rotateOne) })
