import { IdentityProviderSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identity_providers_pb.js'
import { fromBinary } from '@bufbuild/protobuf'
import { type Kysely, sql } from 'kysely'
import type { Engine } from '../db.ts'
import type { Tables } from '../schema/tables.ts'

/** How people sign in: their accounts, their sessions, and what a flow remembers between two requests. */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const text = engine === 'postgres' ? sql`text collate "C"` : sql`text`
  const int = engine === 'postgres' ? sql`bigint` : sql`integer`
  const bytes = engine === 'postgres' ? sql`bytea` : sql`blob`

  await db.schema
    .createTable('accounts')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('identity_uid', text, (c) => c.notNull().unique())
    .addColumn('email', text, (c) => c.notNull().unique())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('password_hash', text, (c) => c.notNull())
    .addColumn('passkey_required', int, (c) => c.notNull())
    .addColumn('disabled', int, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('updated_ms', int, (c) => c.notNull())
    .execute()
  await db.schema
    .createTable('passkeys')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('account_id', text, (c) => c.notNull())
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('public_key', bytes, (c) => c.notNull())
    .addColumn('counter', int, (c) => c.notNull())
    .addColumn('transports', text, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('last_used_ms', int, (c) => c.notNull())
    .execute()
  await db.schema.createIndex('passkeys_by_account').on('passkeys').columns(['account_id']).execute()
  await db.schema
    .createTable('sessions')
    .addColumn('id', text, (c) => c.primaryKey())
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('identity_uid', text, (c) => c.notNull())
    .addColumn('provider_uid', text, (c) => c.notNull())
    .addColumn('method', text, (c) => c.notNull())
    .addColumn('client', text, (c) => c.notNull())
    .addColumn('audiences', text, (c) => c.notNull())
    .addColumn('secret_hash', bytes, (c) => c.notNull())
    .addColumn('address', text, (c) => c.notNull())
    .addColumn('user_agent', text, (c) => c.notNull())
    .addColumn('created_ms', int, (c) => c.notNull())
    .addColumn('last_used_ms', int, (c) => c.notNull())
    .addColumn('expires_ms', int, (c) => c.notNull())
    .execute()
  await db.schema.createIndex('sessions_by_secret').on('sessions').columns(['secret_hash']).unique().execute()
  await db.schema.createIndex('sessions_by_identity').on('sessions').columns(['identity_uid']).execute()
  await db.schema.createIndex('sessions_by_provider').on('sessions').columns(['provider_uid']).execute()
  await db.schema.createIndex('sessions_by_expiry').on('sessions').columns(['expires_ms']).execute()
  await db.schema
    .createTable('session_groups')
    .addColumn('session_id', text, (c) => c.notNull())
    .addColumn('external_group_id', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('session_groups_pk', ['session_id', 'external_group_id'])
    .execute()
  await db.schema
    .createTable('pending')
    .addColumn('kind', text, (c) => c.notNull())
    .addColumn('secret_hash', bytes, (c) => c.notNull())
    .addColumn('data', bytes, (c) => c.notNull())
    .addColumn('expires_ms', int, (c) => c.notNull())
    .addPrimaryKeyConstraint('pending_pk', ['kind', 'secret_hash'])
    .execute()
  await db.schema.createIndex('pending_by_expiry').on('pending').columns(['expires_ms']).execute()
  await db.schema
    .createTable('guesses')
    .addColumn('key', text, (c) => c.primaryKey())
    .addColumn('n', int, (c) => c.notNull())
    .addColumn('since_ms', int, (c) => c.notNull())
    .execute()

  await nameProviders(db, text)
}

/** Tokens of an identity provider are told by who issued them and for which client. */
async function nameProviders(db: Kysely<unknown>, text: ReturnType<typeof sql>): Promise<void> {
  for (const name of ['issuer', 'client_id']) {
    await db.schema
      .alterTable('identity_providers')
      .addColumn(name, text, (c) => c.notNull().defaultTo(''))
      .execute()
  }
  const table = (db as Kysely<Pick<Tables, 'identity_providers'>>).selectFrom('identity_providers')
  for (const { uid, configuration } of await table.select(['uid', 'configuration']).execute()) {
    const { configuration: of } = fromBinary(IdentityProviderSchema, configuration)
    if (of.case !== 'oidc') continue
    await (db as Kysely<Pick<Tables, 'identity_providers'>>)
      .updateTable('identity_providers')
      .set({ issuer: of.value.issuer, client_id: of.value.clientId })
      .where('uid', '=', uid)
      .execute()
  }
  await db.schema
    .createIndex('identity_providers_by_issuer')
    .on('identity_providers')
    .columns(['issuer', 'client_id'])
    .execute()
}
