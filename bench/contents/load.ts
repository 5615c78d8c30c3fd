import { createHash } from 'node:crypto'
import type { ImageContents } from '@berth/image-contents/contents.ts'
import { advisoryPackagesOf } from '@berth/server/advisories/packages/advisory-packages.ts'
import { rootOf } from '@berth/server/api/uid.ts'
import { packageRows } from '@berth/server/contents/storing/packages.ts'
import { documentRows, READER_VERSION } from '@berth/server/contents/storing/stored-contents.ts'
import { MATCHED } from '@berth/server/findings/finding-job.ts'
import { unreadContents } from '@berth/server/registry/manifests/contents-rows.ts'
import { insertRows } from '@berth/server/storage/bulk-rows.ts'
import { recount } from '@berth/server/storage/counts/row-counts.ts'
import { type Db, inTransaction } from '@berth/server/storage/db.ts'
import type { GroupRow, ManifestRow, RepoRow, TagRow } from '@berth/server/storage/schema/tables.ts'
import type { Store } from '@berth/server/storage/store.ts'
import { sql } from 'kysely'
import { ORGANIZATION } from '../dataset.ts'
import {
  contentsOf,
  contentsOfImage,
  groupOfRepo,
  groupsOf,
  type ImageModel,
  imageContents,
  packageAt,
  packagesOfContents,
  repoOfImage,
  reposOf,
  shortId,
} from './model.ts'

/** Images as rows, past the registry and the reader: what a push and a reading write. No layers: no measurement pulls them. */

const IMAGES_PER_TRANSACTION = 1000
const PROGRESS = 20_000
const READY = 1
const CACHE_KIB = 1_000_000
const INDEX_MEMORY = '512MB'

type LoadingStore = Pick<Store, 'db' | 'clock'>

/** Loads images whose packages are not matched with advisories yet. Advisories are loaded before. */
export async function loadImages(
  store: LoadingStore,
  model: ImageModel,
  say: (text: string) => void = () => {},
): Promise<void> {
  const { db } = store
  if (db.engine === 'sqlite') {
    await sql`pragma cache_size = ${sql.lit(-CACHE_KIB)}`.execute(db.kysely)
    await sql`pragma synchronous = off`.execute(db.kysely)
  }
  await indexAdvisories(db)
  await loadPlaces(store, model)
  await loadPackages(db, model)
  const documents = await documentsOf(model)
  say(`  ${documents.length} different images`)
  for (let at = 0; at < model.images; at += IMAGES_PER_TRANSACTION) {
    await loadSome(store, model, documents, at, Math.min(at + IMAGES_PER_TRANSACTION, model.images))
    if ((at + IMAGES_PER_TRANSACTION) % PROGRESS === 0) say(`  ${at + IMAGES_PER_TRANSACTION} images`)
  }
  await loadPairs(db, model, say)
  for (const table of ['groups', 'repos', 'tags'] as const) await recount(db, table)
  if (db.engine === 'sqlite') {
    await sql`pragma synchronous = full`.execute(db.kysely)
    await sql`pragma wal_checkpoint(truncate)`.execute(db.kysely)
  } else await sql`vacuum analyze`.execute(db.kysely)
}

/** As the import of advisories indexes them, and the job that indexes those of before. */
async function indexAdvisories(db: Db): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db.kysely
      .selectFrom('advisories')
      .selectAll()
      .where('root', '=', ORGANIZATION)
      .where('uid', '>', after)
      .orderBy('uid')
      .limit(5000)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) break
    await inTransaction(db, (tx) =>
      insertRows(db, tx, 'advisory_packages', rows.flatMap(advisoryPackagesOf), { ifAbsent: true }),
    )
    after = last.uid
  }
  const job = { runner: '', lease_ms: 0, due_ms: Number.MAX_SAFE_INTEGER, succeeded_ms: 0 }
  await db.kysely
    .insertInto('jobs')
    .values({ kind: 'findings', key: '', ...job, position: MATCHED })
    .onConflict((conflict) => conflict.columns(['kind', 'key']).doUpdateSet({ position: MATCHED }))
    .execute()
}

async function loadPlaces({ db, clock }: LoadingStore, model: ImageModel): Promise<void> {
  const now = clock()
  const resource = (uid: string, parent: string, name: string) => ({
    root: rootOf(uid),
    uid,
    parent,
    name,
    description: '',
    created_ms: now,
    updated_ms: now,
  })
  const groups = groupsOf(model).map(
    (uid, at): GroupRow => ({
      ...resource(uid, ORGANIZATION, `images-${at}`),
      verified: 0,
      kind: 0,
      status: READY,
    }),
  )
  const repos = Array.from({ length: reposOf(model) }, (_, at): RepoRow => {
    const parent = groupOfRepo(at)
    return {
      ...resource(repoOfImage(at * 100), parent, `app-${at}`),
      catalog_tier: 0,
      configuration: new Uint8Array(),
      source: '',
    }
  })
  await inTransaction(db, async (tx) => {
    await insertRows(db, tx, 'groups', groups)
    await insertRows(db, tx, 'repos', repos)
  })
}

async function loadPackages(db: Db, model: ImageModel): Promise<void> {
  const all = Array.from({ length: model.packages }, (_, number) => packageAt(model, number))
  const { distribution } = imageContents(model, 0)
  const rows = [
    ...packageRows(ORGANIZATION, { packages: all, distribution, problems: [] } as ImageContents).values(),
  ]
  if (rows.length !== model.packages) throw new Error(`only ${rows.length} packages are different`)
  const numbered = rows.map((row, number) => ({ ...row, id: shortId(number) }))
  await inTransaction(db, (tx) => insertRows(db, tx, 'packages', numbered))
}

type Document = Awaited<ReturnType<typeof documentRows>>[number]

async function documentsOf(model: ImageModel): Promise<Document[]> {
  const found: Document[] = []
  for (let contents = 0; contents < contentsOf(model); contents++)
    found.push(
      ...(await documentRows({ root: ORGANIZATION, id: 0 }, {
        kind: 'image',
        source: 'layers',
        format: '',
        metadata: undefined,
        documents: [],
        statements: [],
        reports: [],
        contents: imageContents(model, contents),
      } as Parameters<typeof documentRows>[1])),
    )
  return found
}

interface LoadedImage {
  readonly repo: string
  readonly digest: string
  readonly tag: string
}

export function imageAt(image: number): LoadedImage & { readonly content: Buffer } {
  const descriptor = (mediaType: string, text: string) => ({
    mediaType,
    digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
    size: 1000,
  })
  const content = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MEDIA_TYPE,
      config: descriptor('application/vnd.oci.image.config.v1+json', `config ${image}`),
      layers: [descriptor('application/vnd.oci.image.layer.v1.tar+gzip', `layer ${image}`)],
    }),
  )
  const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`
  return { repo: repoOfImage(image), digest, tag: `1.${image % 100}`, content }
}

const MEDIA_TYPE = 'application/vnd.oci.image.manifest.v1+json'

async function loadSome(
  { db, clock }: LoadingStore,
  model: ImageModel,
  documents: readonly Document[],
  from: number,
  to: number,
): Promise<void> {
  const now = clock()
  const images = Array.from({ length: to - from }, (_, at) => ({ image: from + at, ...imageAt(from + at) }))
  const manifests = images.map(
    ({ repo, digest, content }): ManifestRow => ({
      root: ORGANIZATION,
      repo,
      digest,
      media_type: MEDIA_TYPE,
      size: content.length,
      subject: '',
      artifact_type: '',
      annotations: '',
      created_ms: now,
      touched_ms: now,
      content,
    }),
  )
  const tags = images.map(
    ({ repo, digest, tag, image }): TagRow => ({
      root: ORGANIZATION,
      uid: `${repo}/${image.toString(16).padStart(16, '0')}`,
      parent: repo,
      name: tag,
      digest,
      forms: 0,
      deprecated: 0,
      bundles: '[]',
      created_ms: now,
      updated_ms: now,
    }),
  )
  const read = images.map(({ repo, digest, image }) => ({
    ...unreadContents({ repo, digest }, 'pending', now),
    id: shortId(image),
    uid: `${ORGANIZATION}/${shortId(image).toString(16).padStart(12, '0')}`,
    state: 'read',
    source: 'layers',
    distribution_id: 'wolfi',
    distribution_version: '20230201',
    distribution_name: 'Wolfi',
    packages: packagesOfContents(model, contentsOfImage(model, image)).length,
    reader: READER_VERSION,
    read_ms: now,
  }))
  await inTransaction(db, async (tx) => {
    await insertRows(db, tx, 'manifests', manifests)
    await insertRows(db, tx, 'tags', tags)
    await insertRows(db, tx, 'manifest_contents', read)
    await insertRows(
      db,
      tx,
      'manifest_documents',
      images.map(({ image }) => ({
        ...(documents[contentsOfImage(model, image)] as Document),
        contents: shortId(image),
      })),
    )
  })
}

/** Twenty million rows: the database writes them itself, from which contents an image has and which packages those have. */
async function loadPairs(db: Db, model: ImageModel, say: (text: string) => void): Promise<void> {
  const { kysely } = db
  const isPostgres = db.engine === 'postgres'
  const keyed = sql.raw(isPostgres ? '' : ' without rowid')
  await sql`create table bench_images (id bigint primary key, contents bigint not null)${keyed}`.execute(
    kysely,
  )
  await sql`create table bench_packages (contents bigint, package bigint, primary key (contents, package))${keyed}`.execute(
    kysely,
  )
  type Numbers = readonly number[]
  const insert = async (table: string, rows: readonly Numbers[]) => {
    for (let at = 0; at < rows.length; at += 10_000) {
      const values = rows.slice(at, at + 10_000).map((row) => `(${row.join(', ')})`)
      await sql.raw(`insert into ${table} values ${values.join(', ')}`).execute(kysely)
    }
  }
  const images = Array.from({ length: model.images }, (_, image) => [
    shortId(image),
    contentsOfImage(model, image),
  ])
  await insert(
    'bench_images',
    images.sort(([a = 0], [b = 0]) => a - b),
  )
  for (let contents = 0; contents < contentsOf(model); contents++)
    await insert(
      'bench_packages',
      packagesOfContents(model, contents).map((number) => [contents, shortId(number)]),
    )
  await sql`drop index manifest_packages_by_package`.execute(kysely)
  if (isPostgres) {
    await sql`alter table manifest_packages drop constraint manifest_packages_pk`.execute(kysely)
    await sql`analyze bench_images, bench_packages`.execute(kysely)
  }
  await sql`insert into manifest_packages (root, contents, package) select ${sql.lit(ORGANIZATION)}, i.id, p.package
    from bench_images i cross join bench_packages p where p.contents = i.contents order by i.id, p.package`.execute(
    kysely,
  )
  say('  packages of images')
  if (isPostgres)
    await kysely.transaction().execute(async (tx) => {
      await sql`set local maintenance_work_mem = ${sql.lit(INDEX_MEMORY)}`.execute(tx)
      await sql`alter table manifest_packages add constraint manifest_packages_pk primary key (root, contents, package)`.execute(
        tx,
      )
    })
  await sql`create index manifest_packages_by_package on manifest_packages (root, package, contents)`.execute(
    kysely,
  )
  await sql`drop table bench_images`.execute(kysely)
  await sql`drop table bench_packages`.execute(kysely)
  say('  index of packages')
}
