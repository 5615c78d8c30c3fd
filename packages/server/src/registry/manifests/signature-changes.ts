import { rootOf } from '../../api/uid.ts'
import { incrementRows } from '../../storage/bulk-rows.ts'
import type { Db, Tx } from '../../storage/db.ts'
import { subjectOfTag } from '../retention/evaluation.ts'

/**
 * Images whose signatures changed. The transaction of the change queues them, and a job of the room `signatures` verifies them, so that
 * policies find the result when the image is pulled (ADR 65).
 */

const SIGNATURE_TAG = /\.sig$/

/** Queues the images that manifests and tags in a repo may sign: the subjects of the manifests, and those that tags of cosign name. */
export async function queueSignedImages(
  db: Db,
  tx: Tx,
  repo: string,
  { subjects = [], tags = [] }: { readonly subjects?: readonly string[]; readonly tags?: readonly string[] },
): Promise<void> {
  const named = tags.filter((tag) => SIGNATURE_TAG.test(tag)).flatMap((tag) => subjectOfTag(tag) ?? [])
  const digests = [...new Set([...subjects, ...named])].filter((digest) => digest !== '').sort()
  await incrementRows(
    db,
    tx,
    'signature_changes',
    digests.map((digest) => ({ root: rootOf(repo), scope: repo, digest, revision: 1 })),
    { key: ['root', 'scope', 'digest'], numbers: ['revision'] },
  )
}

/** Queues all signed images of a group or repo. */
export async function queueAllSignedImages(db: Db, tx: Tx, scope: string): Promise<void> {
  const row = { root: rootOf(scope), scope, digest: '', revision: 1 }
  await incrementRows(db, tx, 'signature_changes', [row], {
    key: ['root', 'scope', 'digest'],
    numbers: ['revision'],
  })
}
