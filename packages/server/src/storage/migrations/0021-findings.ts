import { type Kysely, sql } from 'kysely'
import { type Engine, sqlRules } from '../engines/engine.ts'

/**
 * Vulnerabilities of packages (ADR 58). Packages are matched, not images: a new image is matched by its packages that are new to the
 * organization, and a changed advisory by the packages of its name. Advisories that exist already are indexed in the background.
 */
export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  const { text, integer, keyOnly } = sqlRules[engine].columnTypes
  const inOrganization = (table: string) =>
    db.schema.createTable(table).addColumn('root', text, (c) => c.notNull())

  await db.schema
    .alterTable('packages')
    .addColumn('matched_ms', integer, (c) => c.notNull().defaultTo(0))
    .execute()
  await db.schema
    .createIndex('packages_unmatched')
    .on('packages')
    .columns(['root', 'id'])
    .where(sql.ref('matched_ms'), '=', sql.lit(0))
    .execute()

  await inOrganization('advisory_packages')
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('uid', text, (c) => c.notNull())
    .addColumn('ecosystem', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('advisory_packages_pk', ['root', 'name', 'uid'])
    .modifyEnd(keyOnly)
    .execute()
  await db.schema
    .createIndex('advisory_packages_by_ecosystem')
    .on('advisory_packages')
    .columns(['root', 'ecosystem'])
    .execute()

  await inOrganization('package_names')
    .addColumn('name', text, (c) => c.notNull())
    .addColumn('package', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('package_names_pk', ['root', 'name', 'package'])
    .modifyEnd(keyOnly)
    .execute()

  await inOrganization('package_findings')
    .addColumn('package', integer, (c) => c.notNull())
    .addColumn('vulnerability', text, (c) => c.notNull())
    .addColumn('state', text, (c) => c.notNull())
    .addColumn('severity', text, (c) => c.notNull())
    .addColumn('score', integer, (c) => c.notNull())
    .addColumn('fixed_version', text, (c) => c.notNull())
    .addColumn('justification', text, (c) => c.notNull())
    .addColumn('advisory', text, (c) => c.notNull())
    .addColumn('aliases', text, (c) => c.notNull())
    .addColumn('found_ms', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('package_findings_pk', ['root', 'package', 'vulnerability'])
    .execute()
  await db.schema
    .createIndex('package_findings_by_vulnerability')
    .on('package_findings')
    .columns(['root', 'vulnerability', 'package'])
    .execute()

  await inOrganization('vulnerability_ids')
    .addColumn('id', text, (c) => c.notNull())
    .addColumn('vulnerability', text, (c) => c.notNull())
    .addPrimaryKeyConstraint('vulnerability_ids_pk', ['root', 'id', 'vulnerability'])
    .modifyEnd(keyOnly)
    .execute()

  await inOrganization('finding_changes')
    .addColumn('subject', text, (c) => c.notNull())
    .addColumn('parent', text, (c) => c.notNull())
    .addColumn('revision', integer, (c) => c.notNull())
    .addPrimaryKeyConstraint('finding_changes_pk', ['root', 'subject', 'parent'])
    .modifyEnd(keyOnly)
    .execute()
}
