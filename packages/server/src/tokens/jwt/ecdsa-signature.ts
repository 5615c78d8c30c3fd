/**
 * Converts ECDSA signatures between their two encodings. JWTs have the numbers r and s one after the other, each as long as the order of the
 * curve (IEEE P1363, RFC 7518 section 3.4); OpenSSL has a sequence of integers in DER (RFC 3279 section 2.2.3). `node:crypto` converts them
 * too, but takes 20 us for each signature.
 */

const SEQUENCE = 0x30
const INTEGER = 0x02
/** Lengths from here on need two bytes, as that of P-521, whose signatures have up to 139 bytes. */
const LONG_LENGTH = 0x80
const ONE_LENGTH_BYTE = 0x81

/** Of P-256, the curve of ES256. */
export const P256_NUMBER_BYTES = 32

/** Returns undefined if the signature has another length than two numbers of `numberBytes` bytes. Does not check the numbers. */
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

/** `der`: a signature that OpenSSL created, with numbers of at most `numberBytes` bytes. */
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

/** Returns a number without leading zeros, except that of the number 0. */
function unsigned(number: Buffer): Buffer {
  let start = 0
  while (start < number.length - 1 && number[start] === 0) start++
  return number.subarray(start)
}

/** Returns the bytes of an integer in DER. Integers are signed, so a number whose first bit is set gets a zero before it. */
function derLength(number: Buffer): number {
  return number.length + (number[0]! >= LONG_LENGTH ? 1 : 0)
}

function writeInteger(der: Buffer, at: number, number: Buffer): void {
  const length = derLength(number)
  der[at] = INTEGER
  der[at + 1] = length
  der.set(number, at + 2 + length - number.length)
}
