import { type HttpClient, type HttpReply, requestHead } from '../http-load.ts'
import { type Blob, type Manifest, mediaTypes } from './content.ts'

/** The distribution protocol as a client speaks it, the same to every registry. */

const ACCEPT = `accept: ${mediaTypes.image}, ${mediaTypes.index}`

export interface RegistryClient {
  readonly name: string
  get(path: string): Promise<HttpReply>
  /** The same for an answer whose body is thrown away as it comes. */
  skim(path: string): Promise<void>
  /** POST, then PUT with everything. */
  pushAtOnce(blob: Blob): Promise<void>
  /** POST, PATCH for each piece that `parts` says, PUT. */
  pushInParts(blob: Blob, parts: number): Promise<void>
  /** As docker and podman push: asks whether the blob is there, then POST, one PATCH, PUT. */
  pushMissing(blob: Blob): Promise<void>
  putManifest(manifest: Manifest, reference: string): Promise<void>
}

/** A client of one repo. `authorization`: undefined sends none. */
export function registryClient(
  http: HttpClient,
  name: string,
  authorization: string | undefined,
): RegistryClient {
  const common = authorization === undefined ? [ACCEPT] : [ACCEPT, `authorization: ${authorization}`]
  const head = (method: string, path: string, more: readonly string[] = []) =>
    requestHead(method, path.startsWith('/v2/') ? path : `/v2/${name}/${path}`, [...common, ...more])
  const ask = async (
    expected: number,
    method: string,
    path: string,
    body: readonly Buffer[] = [],
    more: readonly string[] = [],
  ) => {
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const headers = [...more, `content-length: ${length}`]
    const reply = await http.send(head(method, path, headers), ...body)
    if (reply.status !== expected)
      throw new Error(`${method} ${path} was answered ${reply.status}: ${reply.body}`)
    return reply
  }
  const startUpload = async () => locationOf(await ask(202, 'POST', 'blobs/uploads/'))
  const finish = (location: string, digest: string, body: readonly Buffer[] = []) =>
    ask(201, 'PUT', `${location}${location.includes('?') ? '&' : '?'}digest=${digest}`, body, [OCTETS])
  const pushInParts = async ({ digest, pieces, size }: Blob, parts: number) => {
    let location = await startUpload()
    const bytes = parts === 1 ? [pieces] : partsOf(Buffer.concat(pieces), parts)
    let from = 0
    for (const part of bytes) {
      const to = from + part.reduce((sum, { length }) => sum + length, 0)
      const range = parts === 1 ? [] : [`content-range: ${from}-${to - 1}`]
      location = locationOf(await ask(202, 'PATCH', location, part, [OCTETS, ...range]))
      from = to
    }
    if (from !== size) throw new Error(`${from} bytes are not ${size}`)
    await finish(location, digest)
  }

  return {
    name,
    async get(path) {
      const reply = await http.send(head('GET', path))
      if (reply.status !== 200) throw new Error(`GET ${path} was answered ${reply.status}: ${reply.body}`)
      return reply
    },
    async skim(path) {
      const { status } = await http.skim(head('GET', path))
      if (status !== 200) throw new Error(`GET ${path} was answered ${status}`)
    },
    async pushAtOnce({ digest, pieces }) {
      await finish(await startUpload(), digest, pieces)
    },
    pushInParts,
    async pushMissing(blob) {
      const { status } = await http.send(head('HEAD', `blobs/${blob.digest}`))
      if (status !== 404) throw new Error(`the response for a blob that does not exist was ${status}`)
      await pushInParts(blob, 1)
    },
    async putManifest({ bytes, mediaType }, reference) {
      await ask(201, 'PUT', `manifests/${reference}`, [bytes], [`content-type: ${mediaType}`])
    },
  }
}

const OCTETS = 'content-type: application/octet-stream'

/** The path at which an upload continues. */
function locationOf({ head }: HttpReply): string {
  const [, location = ''] = /\r\nlocation: *(?:http:\/\/[^/]*)?(\S+)/i.exec(head) ?? []
  if (location === '') throw new Error(`an upload without a location: ${head}`)
  return location
}

function partsOf(bytes: Buffer, parts: number): Buffer[][] {
  const length = Math.ceil(bytes.length / parts)
  return Array.from({ length: parts }, (_, at) => [bytes.subarray(at * length, (at + 1) * length)])
}
