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
 * A bucket, in the few operations that the store needs. Keys are those below the prefix. What is sent is signed with its SHA-256, which
 * every server compares with what it got; no newer checksums are asked for, since not every server knows them.
 */
export interface Bucket {
  put(key: string, part: FilledPart): Promise<void>
  /** The bytes of a range that is not empty, or the part of it that there is. Throws MissingBytes where there is no such object. */
  get(key: string, range: ByteRange, signal: AbortSignal): Promise<OpenObject>
  /** Undefined where there is no such object. */
  sizeOf(key: string): Promise<number | undefined>
  /** At most 5 GiB, by one request. */
  copy(from: string, to: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<StoredBlob>
  createMultipartUpload(key: string): Promise<string>
  /** The tag of the part, which completes the whole. */
  uploadPart(part: Part, filled: FilledPart, signal: AbortSignal): Promise<string>
  /** `range` undefined: all of the other object. */
  copyPart(part: Part, from: string, range?: ByteRange, signal?: AbortSignal): Promise<string>
  /** 'NoSuchUpload' where there are none of these parts, or not any more. */
  completeMultipartUpload(
    whole: MultipartUpload,
    tags: readonly string[],
  ): Promise<'complete' | 'NoSuchUpload'>
  /** Does nothing where there are none. */
  abortMultipartUpload(whole: MultipartUpload): Promise<void>
  /** Tags of the parts from the first one up to the first that is missing or has another size. */
  listPartEtags(whole: MultipartUpload, bytes: number): Promise<readonly string[]>
  /** Parts that were neither completed nor aborted, with when the last of them came. */
  listMultipartUploads(prefix: string): AsyncIterable<MultipartUpload & { readonly modifiedMs: number }>
  /** A URL that gives the object to whoever has it, for some time. */
  presignUrl(key: string): Promise<string>
  close(): void
}

export interface OpenObject {
  readonly size: number
  readonly bytes: Readable
}

/** An object that is made of parts. */
export interface MultipartUpload {
  readonly key: string
  readonly uploadId: string
}

export interface Part extends MultipartUpload {
  /** From 1. */
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

  /** Rejects with an error of the store; what S3 is expected to say it answers instead. */
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
    if (failure.temporary || full)
      log.warn({ ...failure, ...full, what, bucket }, 'S3 does not answer as it should')
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
      const { UploadId = '' } = await send(`to begin ${prefix}${key}`, (options) =>
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
        `to give up ${prefix}${whole.key}`,
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

/** After the signature, which a proxy that adds its own trace headers must not break. */
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

/** The hash that the request is signed with; the library would make it once more, of all bytes at once. */
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
    // Other servers mostly do not care, but the signature has to name one.
    ...((region ?? endpoint) !== undefined && { region: region ?? 'us-east-1' }),
    forcePathStyle: pathStyle,
    maxAttempts: limits.s3AttemptsMax,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: limits.s3ConnectTimeoutMs,
      requestTimeout: limits.s3TimeoutMs,
      throwOnRequestTimeout: true,
      // A client that reads slowly keeps its connection idle; it is opened again when it reads on.
      socketTimeout: limits.stalledReplyMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
}
