import { RelationshipType } from '#gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { limits } from '../core/limits.ts'
import type { Uid } from '../core/uid.ts'
import type { Tx } from '../storage/db.ts'
import { insertResource, lockResource, nextUpdate, updateResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'
import { endSessions } from '../sts/sessions.ts'
import { lookupUser } from './user-lookup.ts'

/** People as identities: roots of their own, named by who vouches for them and what that calls them. */

export interface Person {
  /** Who vouches for them: an OpenID provider, or the token service for its own accounts. */
  readonly issuer: string
  readonly subject: string
  /** '' when it is not known. */
  readonly email: string
  readonly emailVerified: boolean
}

/** The identity of somebody who signed in before, in the transaction; undefined for a stranger. */
export async function findPerson(
  { db }: Pick<Store, 'db'>,
  tx: Tx,
  { issuer, subject }: Pick<Person, 'issuer' | 'subject'>,
): Promise<Uid | undefined> {
  const uid = await lookupUser(tx, issuer, subject)
  return (await lockResource(db, tx, 'identities', uid, 'share')) === undefined ? undefined : uid
}

/**
 * Makes the identity of somebody who comes for the first time, or brings the e-mail address of one who is known up to date. The
 * audit record is the caller's to make. Throws code 3 for what cannot be an issuer or a subject.
 */
export async function registerPerson(
  store: Store,
  tx: Tx,
  person: Person,
): Promise<{ readonly uid: Uid; readonly isNew: boolean }> {
  const { db, clock } = store
  const uid = await lookupUser(tx, person.issuer, person.subject)
  const { email } = person
  const addresses = {
    email: person.emailVerified ? email : '',
    email_unverified: person.emailVerified ? '' : email,
  }
  const known = await lockResource(db, tx, 'identities', uid, 'update')
  if (known !== undefined) {
    const isSame =
      (known.email === addresses.email && known.email_unverified === addresses.email_unverified) ||
      // Somebody else has vouched for it before.
      (email !== '' && known.email === email)
    if (!isSame)
      await updateResource(tx, 'identities', uid, { ...addresses, updated_ms: nextUpdate(store, known) })
    return { uid, isNew: false }
  }
  const now = clock()
  await insertResource(db, tx, 'identities', {
    root: uid,
    uid,
    parent: '',
    name: nameFor(email === '' ? person.subject : email),
    description: '',
    ...addresses,
    company: '',
    relationship: RelationshipType.UNSPECIFIED,
    relationship_data: new Uint8Array(0),
    issuer: person.issuer,
    subject: person.subject,
    last_seen_ms: now,
    created_ms: now,
    updated_ms: now,
  })
  return { uid, isNew: true }
}

/** Deletes all by which somebody signs in here and is signed in: sessions, passkeys and the account. */
export async function forgetSignIn(tx: Tx, identity: string): Promise<void> {
  await endSessions(tx, 'identity_uid', identity)
  const account = await tx
    .deleteFrom('accounts')
    .where('identity_uid', '=', identity)
    .returning('id')
    .executeTakeFirst()
  if (account !== undefined) await tx.deleteFrom('passkeys').where('account_id', '=', account.id).execute()
}

/** A name in the alphabet of names, after what somebody is called elsewhere: `ada.lovelace` for Ada.Lovelace@example.com. */
function nameFor(called: string): string {
  const [local = ''] = called.split('@')
  const name = local.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, '-')
  return name === '' ? 'somebody' : name.slice(0, limits.nameCharsMax)
}
