import { limits } from '../../config/limits.ts'
import { type Members, members, parseObject } from '../../registry/manifests/image-json.ts'
import { InvalidSignature } from './candidate.ts'

/** Reads JSON of signatures within limits. Throws InvalidSignature. */

export function parseSignatureObject(bytes: Uint8Array, what: string): Members {
  const { signatureJsonDepthMax: depthMax, signatureJsonElementsMax: elementsMax } = limits
  const parsed = parseObject(bytes, { depthMax, elementsMax })
  if (parsed === undefined || Array.isArray(parsed))
    throw new InvalidSignature(
      `${what} is not a JSON object of at most ${depthMax} levels and ${elementsMax} values`,
    )
  return parsed
}

export function requireText(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw new InvalidSignature(`${what} is missing`)
  if (value.length > limits.signatureAnnotationCharsMax)
    throw new InvalidSignature(`${what} has more than ${limits.signatureAnnotationCharsMax} characters`)
  return value
}

const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/

export function requireBase64(value: unknown, what: string): Buffer<ArrayBuffer> {
  const text = requireText(value, what)
  if (!base64Pattern.test(text)) throw new InvalidSignature(`${what} is not base64`)
  return Buffer.from(text, 'base64')
}

export { type Members, members }
