import { registerPerson } from '../../src/iam/people.ts'
import { inTransaction } from '../../src/storage/db.ts'
import type { TestBerth } from './berth.ts'

/** Somebody who signed in before, by a provider of this name; resolves to the uid of their identity. */
export async function addPerson(
  { berth }: Pick<TestBerth, 'berth'>,
  email: string,
  issuer = 'https://accounts.example.com',
): Promise<string> {
  const { store } = berth.installation
  const person = { issuer, subject: email, email, emailVerified: true }
  return (await inTransaction(store.db, (tx) => registerPerson(store, tx, person))).uid
}
