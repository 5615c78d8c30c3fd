import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { isStorageFull } from '../../../api/storage-faults.ts'
import { limits } from '../../../config/limits.ts'
import type { Tracer } from '../../../runtime/tracer.ts'
import type { ByteRange, StoredBlob } from '../blob-store.ts'
import type { BlobLog, BlobSettings } from '../open.ts'
import { type ExpectedAbsence, type S3Failure, toFailure, toStoreError } from './failures.ts'
import type { FilledPart } from './part-buffers.ts'

/**
 * The operations of a bucket that the store needs. Keys are relative to the prefix. Bodies are signed with their SHA-256, which every
 * server verifies; newer checksums are not used, since not every server supports them.
 */
export interface Bucket {
  put(key: string, part: FilledPart): Promise<void>
  /** Reads a non-empty range, or the existing part of it. Throws MissingBytes if the object does not exist. */
  get(key: string, range: ByteRange, signal: AbortSignal): Promise<OpenObject>
  /** Returns undefined if the object does not exist. */
  sizeOf(key: string): Promise<number | undefined>
  /** Copies up to 5 GiB with one request. */
  copy(from: string, to: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<StoredBlob>
  createMultipartUpload(key: string): Promise<string>
  /** Returns the ETag of the part, which is needed to complete the upload. */
  uploadPart(part: Part, filled: FilledPart, signal: AbortSignal): Promise<string>
  /** `range` undefined: the complete source object. */
  copyPart(part: Part, from: string, range?: ByteRange, signal?: AbortSignal): Promise<string>
  /** Returns 'NoSuchUpload' if the parts do not exist, or no longer. */
  completeMultipartUpload(
    whole: MultipartUpload,
    tags: readonly string[],
  ): Promise<'complete' | 'NoSuchUpload'>
  /** Does nothing if the upload does not exist. */
  abortMultipartUpload(whole: MultipartUpload): Promise<void>
  /** Returns the ETags of the parts up to the first that is missing or has another size. */
  listPartEtags(whole: MultipartUpload, bytes: number): Promise<readonly string[]>
  /** Lists uploads that were neither completed nor aborted, with the time of the latest part. */
  listMultipartUploads(prefix: string): AsyncIterable<MultipartUpload & { readonly modifiedMs: number }>
  /** Returns a URL that gives its holder access to the object for a limited time. */
  presignUrl(key: string): Promise<string>
  close(): void
}

export interface OpenObject {
  readonly size: number
  readonly bytes: Readable
}

/** A multipart upload of an object. */
export interface MultipartUpload {
  readonly key: string
  readonly uploadId: string
}

export interface Part extends MultipartUpload {
  /** Starts at 1. */
  readonly number: number
}

interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
}

const CONTENT_TYPE = 'application/octet-stream'

export function openBucket(settings: BlobSettings, log: BlobLog, tracer?: Tracer): Bucket {
  const { bucket, prefix, redirect } = settings
  const client = createClient(settings, settings.endpoint)
  if (tracer !== undefined) client.middlewareStack.add(traceAttempt(tracer, settings.endpoint), TRACE)
  const publicClient =
    redirect === false || redirect.endpoint === undefined
      ? undefined
      : createClient(settings, redirect.endpoint)
  const at = (key: string) => ({ Bucket: bucket, Key: prefix + key })
  const multipartInput = ({ key, uploadId }: MultipartUpload) => ({ ...at(key), UploadId: uploadId })
  const sourceOf = (key: string) => encodeURI(`${bucket}/${prefix}${key}`)

  /** Rejects with an error of the store; expected absences are returned instead. */
  async function send<T, A extends ExpectedAbsence = never>(
    what: string,
    request: (options: { abortSignal?: AbortSignal; requestTimeout?: number }) => Promise<T>,
    { signal, timeoutMs }: RequestOptions = {},
    ...expected: A[]
  ): Promise<T | A> {
    try {
      return await request({
        ...(signal && { abortSignal: signal }),
        ...(timeoutMs !== undefined && { requestTimeout: timeoutMs }),
      })
    } catch (error) {
      if (signal?.aborted === true) throw error
      const failure = toFailure(error)
      const known = expected.find((code) => code === failure.code)
      if (known !== undefined) return known
      throw logFailure(failure, what)
    }
  }

  function logFailure(failure: S3Failure, what: string): Error {
    const error = toStoreError(failure, what)
    const full = isStorageFull(error) && { err: error }
    if (failure.temporary || full) log.warn({ ...failure, ...full, what, bucket }, 'S3 request failed')
    return error
  }

  const copyOptions: RequestOptions = { timeoutMs: limits.s3CopyTimeoutMs }

  return {
    async put(key, { bytes, sha256 }) {
      const input = { ...at(key), Body: bytes, ContentLength: bytes.length, ContentType: CONTENT_TYPE }
      const command = new PutObjectCommand(input)
      command.middlewareStack.add(withPayloadHash(sha256), PAYLOAD_HASH)
      await send(`to store ${prefix}${key}`, (options) => client.send(command, options))
    },

    async get(key, { start, end }, signal) {
      const what = `object ${prefix}${key} in ${bucket}`
      const input = { ...at(key), Range: `bytes=${start}-${end - 1}` }
      const { Body, ContentLength } = await send(
        what,
        (options) => client.send(new GetObjectCommand(input), options),
        { signal },
      )
      return { size: ContentLength ?? 0, bytes: Body as Readable }
    },

    async sizeOf(key) {
      const found = await send(
        `to look for ${prefix}${key}`,
        (options) => client.send(new HeadObjectCommand(at(key)), options),
        {},
        'NoSuchKey',
      )
      return found === 'NoSuchKey' ? undefined : found.ContentLength
    },

    async copy(from, to) {
      const input = { ...at(to), CopySource: sourceOf(from) }
      await send(
        `to copy ${prefix}${from}`,
        (options) => client.send(new CopyObjectCommand(input), options),
        copyOptions,
      )
    },

    async remove(key) {
      await send(
        `to delete ${prefix}${key}`,
        (options) => client.send(new DeleteObjectCommand(at(key)), options),
        {},
        'NoSuchKey',
      )
    },

    async *list(below) {
      let after: string | undefined
      do {
        const input = { Bucket: bucket, Prefix: prefix + below, ContinuationToken: after }
        const page = await send('to list objects', (options) =>
          client.send(new ListObjectsV2Command(input), options),
        )
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? [])
          yield { location: Key.slice(prefix.length), size: Size, modifiedMs: LastModified?.getTime() ?? 0 }
        after = page.NextContinuationToken
      } while (after !== undefined)
    },

    async createMultipartUpload(key) {
      const input = { ...at(key), ContentType: CONTENT_TYPE }
      const { UploadId = '' } = await send(`to start ${prefix}${key}`, (options) =>
        client.send(new CreateMultipartUploadCommand(input), options),
      )
      return UploadId
    },

    async uploadPart({ number, ...whole }, { bytes, sha256 }, signal) {
      const input = { ...multipartInput(whole), PartNumber: number, Body: bytes, ContentLength: bytes.length }
      const command = new UploadPartCommand(input)
      command.middlewareStack.add(withPayloadHash(sha256), PAYLOAD_HASH)
      const { ETag = '' } = await send(
        `part ${number} of ${prefix}${whole.key}`,
        (options) => client.send(command, options),
        { signal },
      )
      return ETag
    },

    async copyPart({ number, ...whole }, from, range, signal) {
      const input = {
        ...multipartInput(whole),
        PartNumber: number,
        CopySource: sourceOf(from),
        ...(range && { CopySourceRange: `bytes=${range.start}-${range.end - 1}` }),
      }
      const { CopyPartResult } = await send(
        `to copy ${prefix}${from}`,
        (options) => client.send(new UploadPartCopyCommand(input), options),
        { ...copyOptions, signal },
      )
      return CopyPartResult?.ETag ?? ''
    },

    async completeMultipartUpload(whole, tags) {
      const Parts = tags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }))
      const input = { ...multipartInput(whole), MultipartUpload: { Parts } }
      const done = await send(
        `to complete ${prefix}${whole.key}`,
        (options) => client.send(new CompleteMultipartUploadCommand(input), options),
        copyOptions,
        'NoSuchUpload',
      )
      return done === 'NoSuchUpload' ? done : 'complete'
    },

    async abortMultipartUpload(whole) {
      await send(
        `to abort ${prefix}${whole.key}`,
        (options) => client.send(new AbortMultipartUploadCommand(multipartInput(whole)), options),
        {},
        'NoSuchUpload',
      )
    },

    async listPartEtags({ key, uploadId }, bytes) {
      const tags: string[] = []
      let after: string | undefined
      do {
        const input = { ...multipartInput({ key, uploadId }), PartNumberMarker: after }
        const page = await send(
          'to list parts',
          (options) => client.send(new ListPartsCommand(input), options),
          {},
          'NoSuchUpload',
        )
        if (page === 'NoSuchUpload') return []
        for (const { PartNumber, Size, ETag = '' } of page.Parts ?? []) {
          if (PartNumber !== tags.length + 1 || Size !== bytes) return tags
          tags.push(ETag)
        }
        after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined
      } while (after !== undefined)
      return tags
    },

    async *listMultipartUploads(below) {
      let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | undefined = {}
      while (marker !== undefined) {
        const input: object = { Bucket: bucket, Prefix: prefix + below, ...marker }
        const page = await send('to list unfinished uploads', (options) =>
          client.send(new ListMultipartUploadsCommand({ Bucket: bucket, ...input }), options),
        )
        for (const { Key = '', UploadId = '', Initiated } of page.Uploads ?? []) {
          const modifiedMs = Math.max(Initiated?.getTime() ?? 0, await lastPartMs(Key, UploadId))
          yield { key: Key.slice(prefix.length), uploadId: UploadId, modifiedMs }
        }
        const { NextKeyMarker, NextUploadIdMarker } = page
        marker =
          page.IsTruncated === true && NextKeyMarker
            ? { KeyMarker: NextKeyMarker, ...(NextUploadIdMarker && { UploadIdMarker: NextUploadIdMarker }) }
            : undefined
      }
    },

    presignUrl: (key) =>
      getSignedUrl(
        publicClient ?? client,
        new GetObjectCommand({ ...at(key), ResponseContentType: CONTENT_TYPE }),
        { expiresIn: limits.blobUrlLifetimeMs / 1000 },
      ),

    close() {
      client.destroy()
      publicClient?.destroy()
    },
  }

  async function lastPartMs(Key: string, UploadId: string): Promise<number> {
    let latest = 0
    let after: string | undefined
    do {
      const input = { Bucket: bucket, Key, UploadId, PartNumberMarker: after }
      const page = await send(
        'to list parts',
        (options) => client.send(new ListPartsCommand(input), options),
        {},
        'NoSuchUpload',
      )
      if (page === 'NoSuchUpload') break
      for (const { LastModified } of page.Parts ?? []) latest = Math.max(latest, LastModified?.getTime() ?? 0)
      after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined
    } while (after !== undefined)
    return latest
  }
}

const TRACE = { step: 'deserialize', name: 'berthTrace', priority: 'low' } as const

/** Adds trace headers after the signature, which must not cover them: a proxy may change them. */
function traceAttempt(tracer: Tracer, endpoint: string | undefined) {
  return <Args extends { readonly request: unknown }, Answer>(
    next: (args: Args) => Promise<Answer>,
    { commandName = '' }: { readonly commandName?: string },
  ) =>
    (args: Args): Promise<Answer> => {
      const { headers, hostname } = args.request as {
        readonly headers: Record<string, string>
        readonly hostname: string
      }
      const method = `S3/${commandName.replace(/Command$/, '')}`
      const attributes = { 'rpc.system.name': 'aws-api', 'rpc.method': method, 'server.address': hostname }
      return tracer.span(method, { kind: 'client', attributes }, (span) => {
        Object.assign(headers, span.headersFor(endpoint ?? ''))
        return next(args)
      })
    }
}

const PAYLOAD_HASH = { step: 'build', name: 'berthPayloadHash' } as const

/** Provides the hash for the signature; otherwise the library would compute it again, of all bytes in one go. */
function withPayloadHash(sha256: string) {
  return <Args extends { readonly request: unknown }, Answer>(next: (args: Args) => Answer) =>
    (args: Args): Answer => {
      const { headers } = args.request as { readonly headers: Record<string, string> }
      headers['x-amz-content-sha256'] = sha256
      return next(args)
    }
}

function createClient({ region, pathStyle }: BlobSettings, endpoint: string | undefined): S3Client {
  const agent = { keepAlive: true, maxSockets: limits.s3ConnectionsMax }
  return new S3Client({
    ...(endpoint !== undefined && { endpoint }),
    // Other servers mostly ignore the region, but the signature needs one.
    ...((region ?? endpoint) !== undefined && { region: region ?? 'us-east-1' }),
    forcePathStyle: pathStyle,
    maxAttempts: limits.s3AttemptsMax,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: limits.s3ConnectTimeoutMs,
      requestTimeout: limits.s3TimeoutMs,
      throwOnRequestTimeout: true,
      // A slow client leaves its connection idle; it is reopened when the client continues.
      socketTimeout: limits.stalledReplyMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}
