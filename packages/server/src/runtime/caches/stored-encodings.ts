/** Encodings of values that are sent more than once, by what encodes them. A value and its encodings are released together. */
const encodings = new WeakMap<object, Map<object, unknown>>()

/** From now on, `encodeOnce` stores the encodings of this value, which must not change any more. */
export function storeEncodings(value: object): void {
  encodings.set(value, new Map())
}

/** Returns the encoding of a value by `encoder`, an object that identifies it. If encodings of the value are not stored, it is encoded each time. */
export function encodeOnce<T>(value: object, encoder: object, encode: () => T): T {
  const known = encodings.get(value)
  if (known === undefined) return encode()
  let encoded = known.get(encoder) as T | undefined
  if (encoded === undefined) {
    encoded = encode()
    known.set(encoder, encoded)
  }
  return encoded
}
