import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { newName, type Organization } from '../api/api-fixture.ts'
import {
  bearerOf,
  digest,
  type OciClient,
  type OciReply,
  ociClient,
  testImage,
} from '../registry/registry.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { exchange } from '../tokens/exchange.ts'
import { SUBJECT, type TestIssuer } from '../tokens/issuer.ts'

/** Clients of several organizations that send one request after the other, whether these succeed or not. */

/** `image`: pushes, pulls and deletes images. */
export const loadKinds = ['read', 'write', 'image', 'exchange'] as const

export interface Attempt {
  readonly organization: string
  readonly kind: (typeof loadKinds)[number]
  /** 200 for all successes. */
  readonly status: number
  readonly text: string
  readonly startMs: number
  readonly endMs: number
}

interface Reply {
  readonly status: number
  readonly text: string
}

/** An image whose client has ended. */
interface LoadImage {
  readonly oci: OciClient
  readonly name: string
  readonly digest: string
  readonly blobs: readonly string[]
  /** What was acknowledged last. */
  readonly state: 'stored' | 'deleted'
}

const PAUSE_MS = 30
/** One of so many images is not deleted. */
const KEPT = 4

/** Starts a client of each kind for each organization, until `stop`. */
export async function startOrganizationLoad(
  berth: TestBerth,
  organizations: readonly Organization[],
  issuer: TestIssuer,
) {
  const attempts: Attempt[] = []
  /** uids of created groups. */
  const acknowledged: string[] = []
  const images: LoadImage[] = []
  let isRunning = true
  /** Returns false if the request fails. */
  const attempt = async (organization: string, kind: Attempt['kind'], send: () => Promise<Reply>) => {
    const startMs = performance.now()
    const reply = await send()
    const isSuccess = reply.status >= 200 && reply.status < 300
    const status = isSuccess ? 200 : reply.status
    attempts.push({ organization, kind, status, text: reply.text, startMs, endMs: performance.now() })
    return isSuccess
  }
  let withImages = true
  const runningImages = new Set<Promise<unknown>>()
  const repeat = async (work: () => Promise<unknown>) => {
    while (isRunning) {
      await work()
      await sleep(PAUSE_MS)
    }
  }
  const repeatImages = (oci: OciClient, organization: string) =>
    repeat(async () => {
      if (!withImages) return
      const work = runImage(oci, `${organization}/app`, (send) => attempt(organization, 'image', send))
      runningImages.add(work)
      const image = await work.finally(() => runningImages.delete(work))
      if (image !== undefined) images.push(image)
    })
  const startClients = async ({ uid, owner: { uid: owner, api } }: Organization) => {
    const { uid: identity } = await api.create(`iam/identities/${uid}`, {
      name: newName('ci'),
      claimMatch: { issuer: issuer.name, subject: SUBJECT },
    })
    const oci = ociClient(berth, await bearerOf(berth, owner))
    return [
      repeat(() => attempt(uid, 'read', () => api.get(`iam/groups/${uid}`))),
      repeat(() =>
        attempt(uid, 'write', async () => {
          const reply = await api.post(`iam/groups/${uid}`, { name: newName('g') })
          if (reply.status === 200) acknowledged.push(reply.body.uid)
          return reply
        }),
      ),
      repeatImages(oci, uid),
      repeat(() =>
        attempt(uid, 'exchange', async () =>
          exchange(berth.url, await issuer.sign({ aud: berth.url }), { aud: berth.url, identity }),
        ),
      ),
    ]
  }
  const clients = (await Promise.all(organizations.map(startClients))).flat()
  return {
    attempts,
    acknowledged,
    /** Returns which images are not as they were acknowledged: with all their bytes, or deleted. */
    async damagedImages(): Promise<string[]> {
      assert.ok(images.length > 0)
      const problems: string[] = []
      for (const { oci, name, digest: its, blobs, state } of [...images]) {
        const { status } = await oci.request('GET', `${name}/manifests/${its}`)
        if (status !== (state === 'stored' ? 200 : 404))
          problems.push(`${name}@${its}: ${state}, but ${status}`)
        if (state === 'deleted') continue
        for (const blob of blobs) {
          const { status, bytes } = await oci.request('GET', `${name}/blobs/${blob}`)
          if (status !== 200 || digest(bytes) !== blob) problems.push(`${name}@${its}: ${blob}: ${status}`)
        }
      }
      return problems
    },
    /** Runs work while no image is pushed or deleted. */
    async withoutImages<T>(work: () => Promise<T>): Promise<T> {
      withImages = false
      await Promise.all(runningImages)
      try {
        return await work()
      } finally {
        withImages = true
      }
    },
    async stop() {
      isRunning = false
      await Promise.all(clients)
    },
  }
}

let started = 0

/**
 * Pushes an image, pulls it and mostly deletes it, up to the first request that fails. Returns it, unless the outcome of its last change is
 * unknown.
 */
async function runImage(
  oci: OciClient,
  name: string,
  attempt: (send: () => Promise<Reply>) => Promise<boolean>,
): Promise<LoadImage | undefined> {
  const { blobs, manifest, mediaType, digest: its } = testImage()
  const allSucceed = async (...steps: readonly (() => Promise<OciReply>)[]) => {
    for (const step of steps) {
      const isSuccess = await attempt(async () => {
        const { status, bytes } = await step()
        return { status, text: bytes.toString() }
      })
      if (!isSuccess) return false
    }
    return true
  }
  const isPushed = await allSucceed(
    ...blobs.map(
      (blob) => () => oci.request('POST', `${name}/blobs/uploads/?digest=${digest(blob)}`, { body: blob }),
    ),
    () =>
      oci.request('PUT', `${name}/manifests/${its}`, {
        body: manifest,
        headers: { 'content-type': mediaType },
      }),
  )
  if (!isPushed) return undefined
  const image = { oci, name, digest: its, blobs: blobs.map((blob) => digest(blob)) }
  const isPulled = await allSucceed(
    () => oci.request('GET', `${name}/manifests/${its}`),
    ...blobs.map((blob) => () => oci.request('GET', `${name}/blobs/${digest(blob)}`)),
  )
  started++
  if (!isPulled || started % KEPT === 0) return { ...image, state: 'stored' }
  const isDeleted = await allSucceed(() => oci.request('DELETE', `${name}/manifests/${its}`))
  return isDeleted ? { ...image, state: 'deleted' } : undefined
}
