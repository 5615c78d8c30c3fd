import { gzipSync } from 'node:zlib'
import { documentLimits } from '@berth/image-contents/documents/document-limits.ts'

/** Documents that attack their reader. Each is built on use: some have many megabytes. */
export interface HostileDocument {
  readonly name: string
  readonly build: () => Uint8Array
  /** Why the whole document could not be read, or what is reported about an element of it; undefined if it is read without a problem. */
  readonly reason?: RegExp
  /** Packages or findings that are read nevertheless; 0 by default. */
  readonly read?: number
}

export const json = (value: unknown) => Buffer.from(JSON.stringify(value))
export const text = (value: string) => Buffer.from(value)
export const many = (count: number, value: string) => new Array(count).fill(value).join()

const { documentBytesMax, documentDepthMax, documentFieldBytesMax, documentValuesMax } = documentLimits

const NOT_JSON = /^the document is not JSON/
const BINARY = /UTF-16 or UTF-32, or binary$/

/** Bytes that are no JSON document of bounded size. */
export const hostileText: readonly HostileDocument[] = [
  { name: 'no bytes', build: () => text(''), reason: /^the document is empty$/ },
  { name: 'white space', build: () => text(' \n\t '), reason: NOT_JSON },
  { name: 'a byte order mark alone', build: () => text('\ufeff'), reason: NOT_JSON },
  { name: 'gzip', build: () => gzipSync('{}'), reason: /^the document is compressed with gzip$/ },
  { name: 'a gzip bomb', build: () => gzipSync(Buffer.alloc(50_000_000)), reason: /compressed with gzip$/ },
  { name: 'zstd', build: () => Buffer.from('28b52ffd2000', 'hex'), reason: /compressed with zstd$/ },
  { name: 'UTF-16 with a mark', build: () => Buffer.from('\ufeff{}', 'utf16le'), reason: BINARY },
  { name: 'UTF-16 without a mark', build: () => Buffer.from('{}', 'utf16le'), reason: BINARY },
  { name: 'UTF-16, big endian', build: () => Buffer.from('feff007b', 'hex'), reason: BINARY },
  { name: 'zero bytes', build: () => Buffer.alloc(1000), reason: BINARY },
  {
    name: 'a zero byte between values',
    build: () => text('{"a":1,\0"b":2}'),
    reason: /U\+0000: it is binary$/,
  },
  { name: 'a zero byte in a string', build: () => text('{"a":"\0"}'), reason: NOT_JSON },
  { name: 'not UTF-8', build: () => Buffer.from('7b2261223a22ff227d', 'hex'), reason: /not in UTF-8$/ },
  {
    name: 'overlong UTF-8',
    build: () => Buffer.from('7b2261223a22c0ae227d', 'hex'),
    reason: /not in UTF-8$/,
  },
  {
    name: 'an encoded surrogate',
    build: () => Buffer.from('7b2261223a22eda080227d', 'hex'),
    reason: /not in UTF-8$/,
  },
  {
    name: 'XML',
    build: () => text('<?xml version="1.0"?><bom/>'),
    reason: /^the document is XML, not JSON$/,
  },
  { name: 'SPDX tag-value', build: () => text('SPDXVersion: SPDX-2.3\n'), reason: NOT_JSON },
  { name: 'a list', build: () => text('[{"spdxVersion":"SPDX-2.3"}]'), reason: /not a JSON object$/ },
  { name: 'a string', build: () => text('"SPDX-2.3"'), reason: /not a JSON object$/ },
  { name: 'null', build: () => text('null'), reason: /not a JSON object$/ },
  { name: 'two documents', build: () => text('{}{}'), reason: NOT_JSON },
  { name: 'a truncated document', build: () => text('{"packages":[{"name":"a"'), reason: NOT_JSON },
  { name: 'a truncated string', build: () => text('{"name":"\\'), reason: NOT_JSON },
  { name: 'a trailing comma', build: () => text('{"a":1,}'), reason: /\(line 1, column 8\)$/ },
  { name: 'a comment', build: () => text('{}// end'), reason: NOT_JSON },
  { name: 'NaN', build: () => text('{"a":NaN}'), reason: NOT_JSON },
  { name: 'closing brackets', build: () => text(']'.repeat(100_000)), reason: NOT_JSON },
  {
    name: 'too many bytes',
    build: () => Buffer.alloc(documentBytesMax + 1, '{'),
    reason: new RegExp(`more than ${documentBytesMax} bytes$`),
  },
  {
    name: 'nested lists',
    build: () => text(`{"a":${'['.repeat(documentDepthMax)}${']'.repeat(documentDepthMax)}}`),
    reason: new RegExp(`nested deeper than ${documentDepthMax} levels$`),
  },
  {
    name: 'a million open objects',
    build: () => text('{"a":'.repeat(1_000_000)),
    reason: /nested deeper than/,
  },
  {
    name: 'ten million numbers',
    build: () => text(`{"packages":[${many(10_000_000, '1')}]}`),
    reason: new RegExp(`more than ${documentValuesMax} values$`),
  },
  {
    name: 'ten million empty objects',
    build: () => text(`{"packages":[${many(10_000_000, '{}')}]}`),
    reason: /more than \d+ values$/,
  },
  {
    name: 'a long name of a field',
    build: () => text(`{"${'a'.repeat(documentFieldBytesMax + 1)}":1}`),
    reason: /the name of a field has more than/,
  },
]
