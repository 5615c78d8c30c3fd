import type { TestDatabase } from '../database/databases.ts'
import type { Cleanup } from '../server/process.ts'
import { startTestBerth, type TestBerth } from '../server/test-berth.ts'
import { type MailServer, mailEnvironment, startMailServer } from './mail-server.ts'

/** Starts a mail server without TLS, and an installation that sends email with it and trusts the proxies of this machine. */
export async function startBerthWithMail(
  database: TestDatabase,
  t: Cleanup,
): Promise<{ berth: TestBerth; mail: MailServer }> {
  const mail = await startMailServer(t, { tls: 'none' })
  const env = { ...mailEnvironment(mail), BERTH_TRUSTED_PROXIES: '127.0.0.0/8' }
  const berth = await startTestBerth(database, { env, mail: { pollMs: 50 } })
  t.after(() => berth.stop())
  return { berth, mail }
}
