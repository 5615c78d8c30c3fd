import {
  bit as bitOption,
  Capability,
  CapabilitySchema,
  internal_only as internalOnlyOption,
  name as nameOption,
} from '../gen/capabilities/capabilities_pb.js'
import { getOption } from './options.ts'

/**
 * Capabilities and sets of them. Names, bits and flags are defined only by the enum in
 * packages/contract/proto/capabilities/capabilities.proto.
 */

declare const brand: unique symbol

/** A set of capabilities: bit n is set if it contains the capability whose `bit` option is n. */
export type CapabilitySet = bigint & { readonly [brand]: true }

/** Creates a set from bits that are all known. */
const asSet = (bits: bigint): CapabilitySet => bits as CapabilitySet

interface CapabilityEntry {
  readonly capability: Capability
  readonly name: string
  readonly mask: bigint
  readonly internalOnly: boolean
}

/** All capabilities except UNKNOWN, in ascending order of their numbers. */
const capabilityEntries: readonly CapabilityEntry[] = CapabilitySchema.values
  .filter((value) => value.number !== Capability.UNKNOWN)
  .map((value) => ({
    capability: value.number,
    name: getOption(value, nameOption),
    mask: 1n << BigInt(getOption(value, bitOption)),
    internalOnly: getOption(value, internalOnlyOption),
  }))
  .sort((a, b) => a.capability - b.capability)

const byNumber: ReadonlyMap<number, CapabilityEntry> = new Map(
  capabilityEntries.map((entry) => [entry.capability, entry]),
)
const byName: ReadonlyMap<string, CapabilityEntry> = new Map(
  capabilityEntries.map((entry) => [entry.name, entry]),
)

/** All capabilities that a role of an organization can have, with their schema names and short names. */
export const capabilityNames: readonly { readonly wire: string; readonly name: string }[] = capabilityEntries
  .filter(({ capability }) => isGrantable(capability))
  .map(({ capability, name }) => ({ wire: Capability[capability], name }))

/** The empty set. */
export const noCapabilities: CapabilitySet = asSet(0n)

/** The set of all capabilities, including internal and deprecated ones. */
export const everyCapability: CapabilitySet = capabilitySetOf(
  capabilityEntries.map((entry) => entry.capability),
)

/** The capabilities of the operator API. They apply on the platform only: no group, custom role or narrowed token has them. */
export const operatorCapabilities: CapabilitySet = capabilitySetOf([
  Capability.CAP_OPERATOR_GET,
  Capability.CAP_OPERATOR_UPDATE,
])

/** Returns the capability with this short name, for example `groups.list`; undefined for any other text. */
export function capabilityByName(name: string): Capability | undefined {
  return byName.get(name)?.capability
}

/** Returns the short name, for example `groups.list`; undefined for UNKNOWN and unknown numbers. */
export function capabilityName(capability: Capability): string | undefined {
  return byNumber.get(capability)?.name
}

/** Returns whether only roles of the operator can have the capability. */
export function isInternalOnly(capability: Capability): boolean {
  return byNumber.get(capability)?.internalOnly ?? false
}

/** Returns whether a role of an organization can have the capability: it exists and is not internal. */
export function isGrantable(capability: Capability): boolean {
  return byNumber.has(capability) && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability)
}

/** Returns the set of these capabilities. UNKNOWN and unknown numbers grant nothing and are omitted. */
export function capabilitySetOf(capabilities: Iterable<Capability>): CapabilitySet {
  let bits = 0n
  for (const capability of capabilities) bits |= byNumber.get(capability)?.mask ?? 0n
  return asSet(bits)
}

/** Returns the capabilities in a set, in ascending order of their numbers. */
export function capabilitiesIn(set: CapabilitySet): Capability[] {
  return capabilityEntries.filter((entry) => (set & entry.mask) !== 0n).map((entry) => entry.capability)
}

/** Returns the union of the sets. */
export function union(...sets: readonly CapabilitySet[]): CapabilitySet {
  return asSet(sets.reduce((all: bigint, set) => all | set, 0n))
}

/** Returns the intersection of both sets. */
export function intersect(a: CapabilitySet, b: CapabilitySet): CapabilitySet {
  return asSet(a & b)
}

/** Returns the capabilities of `set` that `removed` does not contain. */
export function without(set: CapabilitySet, removed: CapabilitySet): CapabilitySet {
  return asSet(set & ~removed)
}

/** Returns whether `set` contains all of `needed`. */
export function includesAll(set: CapabilitySet, needed: CapabilitySet): boolean {
  return (set & needed) === needed
}

/** Minimum number of bits in the encoding. */
const bitLengthMin = 50

/** Maximum number of bits in a claim, far above the highest bit in use. Longer claims are invalid. */
const bitLengthMax = 4096

const wordBits = 64
const wordBytes = 8

/**
 * Encodes a set for the `cap` claim of a token: the number of bits, then the bits in words of 64, lowest word first, each as an unsigned
 * big-endian 64-bit integer, in URL-safe base64 with padding.
 */
export function encodeCapabilitySet(set: CapabilitySet): string {
  const length = Math.max(bitLengthMin, set.toString(2).length)
  const words = Math.ceil(length / wordBits)
  const bytes = Buffer.alloc((1 + words) * wordBytes)
  bytes.writeBigUInt64BE(BigInt(length), 0)
  for (let word = 0; word < words; word++) {
    const bits = BigInt.asUintN(wordBits, set >> BigInt(word * wordBits))
    bytes.writeBigUInt64BE(bits, (1 + word) * wordBytes)
  }
  return bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

/**
 * Decodes a `cap` claim: text from encodeSet, or the older form, an array of enum numbers. Unknown bits and numbers are omitted. Returns
 * undefined if the value has neither form.
 */
export function decodeCapabilitySet(value: unknown): CapabilitySet | undefined {
  if (Array.isArray(value)) {
    return value.every((entry) => Number.isInteger(entry))
      ? capabilitySetOf(value as Capability[])
      : undefined
  }
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]*={0,2}$/.test(value) || value.length % 4 !== 0)
    return undefined
  const bytes = Buffer.from(value, 'base64url')
  if (bytes.length < wordBytes) return undefined
  const length = bytes.readBigUInt64BE(0)
  if (length > bitLengthMax) return undefined
  const words = Math.ceil(Number(length) / wordBits)
  if (bytes.length !== (1 + words) * wordBytes) return undefined
  let bits = 0n
  for (let word = words; word > 0; word--) {
    bits = (bits << BigInt(wordBits)) | bytes.readBigUInt64BE(word * wordBytes)
  }
  return asSet(bits & everyCapability)
}
