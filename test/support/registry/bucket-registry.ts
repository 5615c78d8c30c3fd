import assert from 'node:assert/strict'
import type { Cleanup } from '../server/process.ts'
import { startTestBerth, type TestBerth } from '../server/test-berth.ts'
import { bearerOf, digest, type OciClient, ociClient } from './registry.ts'

/** A registry whose bytes are in a bucket, and what is done to it. */

export async function startBerthWith(t: Cleanup, env: Readonly<Record<string, string>>) {
  const berth = await startTestBerth({ name: 'sqlite', open: undefined }, { env })
  t.after(() => berth.stop())
  return { berth, ...(await clientOf(berth)) }
}

export async function clientOf(berth: TestBerth) {
  const authorization = await bearerOf(berth, berth.owner)
  return { name: `${berth.organization}/images/app`, client: ociClient(berth, authorization), authorization }
}

/** The path of an upload that was just begun, below /v2/. */
export async function startUpload(client: OciClient, name: string): Promise<string> {
  const begun = await client.request('POST', `${name}/blobs/uploads/`)
  assert.equal(begun.status, 202)
  return (begun.headers.get('location') ?? '').slice('/v2/'.length)
}

export async function assertPulled(client: OciClient, name: string, bytes: Buffer): Promise<void> {
  const got = await client.request('GET', `${name}/blobs/${digest(bytes)}`)
  assert.equal(got.status, 200, got.bytes.subarray(0, 500).toString())
  assert.ok(got.bytes.equals(bytes))
}
