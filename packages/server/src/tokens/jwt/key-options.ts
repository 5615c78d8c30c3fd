import type { KeyObject, SigningOptions } from 'node:crypto'

const keys = new WeakMap<KeyObject, Map<SigningOptions, KeyObject>>()

/**
 * Returns the same key with options of its signatures, which `node:crypto` reads from it. In an object around the key, they cost about 40 us
 * for each signature: Node 24 finds out by two exceptions that the object is not a key. Its documentation describes only such objects;
 * jws-signature.test.ts fails if Node stops reading the options of keys.
 */
export function withOptions(key: KeyObject, options: SigningOptions): KeyObject {
  let ofKey = keys.get(key)
  if (ofKey === undefined) {
    ofKey = new Map()
    keys.set(key, ofKey)
  }
  let known = ofKey.get(options)
  if (known === undefined) {
    known = Object.assign(structuredClone(key), options)
    ofKey.set(options, known)
  }
  return known
}
