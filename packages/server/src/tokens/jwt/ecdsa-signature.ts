/**
 * The two encodings of an ECDSA signature: the numbers r and s, of the size of the curve's order, in a row (IEEE P1363, RFC 7518 section
 * 3.4), which JWTs use, and as a sequence of integers in DER (RFC 3279 section 2.2.3), which OpenSSL uses. `node:crypto` converts them too, but
 * takes 20 us for each signature.
 */

const SEQUENCE = 0x30
const INTEGER = 0x02
/** A length of one byte is below this; the signature of P-521, the longest, has 139 bytes and needs two. */
const LONG_LENGTH = 0x80
const ONE_LENGTH_BYTE = 0x81

/** Of P-256, the curve of ES256. */
export const P256_NUMBER_BYTES = 32

/** Returns undefined if the signature does not consist of two numbers of `numberBytes` bytes each. */
export function ecdsaToDer(signature: Buffer, numberBytes: number): Buffer | undefined {
  if (signature.length !== 2 * numberBytes) return undefined
  const [r, s] = [unsigned(signature.subarray(0, numberBytes)), unsigned(signature.subarray(numberBytes))]
  const length = 2 + derLength(r) + 2 + derLength(s)
  const head = length < LONG_LENGTH ? [SEQUENCE, length] : [SEQUENCE, ONE_LENGTH_BYTE, length]
  const der = Buffer.alloc(head.length + length)
  der.set(head)
  writeInteger(der, head.length, r)
  writeInteger(der, head.length + 2 + derLength(r), s)
  return der
}

/** `der` is a valid signature, from OpenSSL, with numbers of at most `numberBytes` bytes. */
export function derToEcdsa(der: Buffer, numberBytes: number): Buffer {
  const signature = Buffer.alloc(2 * numberBytes)
  let at = der[1] === ONE_LENGTH_BYTE ? 3 : 2
  for (const end of [numberBytes, 2 * numberBytes]) {
    const length = der[at + 1]!
    const number = unsigned(der.subarray(at + 2, at + 2 + length))
    signature.set(number, end - number.length)
    at += 2 + length
  }
  return signature
}

/** Without leading zeros, except that of the number 0. */
function unsigned(number: Buffer): Buffer {
  let start = 0
  while (start < number.length - 1 && number[start] === 0) start++
  return number.subarray(start)
}

/** A number whose first bit is set gets a zero before it, because integers in DER are signed. */
function derLength(number: Buffer): number {
  return number.length + (number[0]! >= LONG_LENGTH ? 1 : 0)
}

function writeInteger(der: Buffer, at: number, number: Buffer): void {
  const length = derLength(number)
  der[at] = INTEGER
  der[at + 1] = length
  der.set(number, at + 2 + length - number.length)
}
