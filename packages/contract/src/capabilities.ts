import { getOption } from '@bufbuild/protobuf'
import {
  bit as bitOption,
  Capability,
  CapabilitySchema,
  internal_only as internalOnlyOption,
  name as nameOption,
} from '../gen/capabilities/capabilities_pb.js'

/**
 * Capabilities and sets of them. Names, bits and flags come from the enum in packages/contract/proto/capabilities/capabilities.proto and
 * stand nowhere else.
 */

declare const brand: unique symbol

/** A set of capabilities: bit n is set when it holds the capability whose `bit` option is n. */
export type CapabilitySet = bigint & { readonly [brand]: true }

/** Wraps bits that are all known. */
const asSet = (bits: bigint): CapabilitySet => bits as CapabilitySet

interface CapabilityEntry {
  readonly capability: Capability
  readonly name: string
  readonly mask: bigint
  readonly internalOnly: boolean
}

/** Every capability but UNKNOWN, in ascending number. */
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

/** Every capability that a role of an organization may hold, by its name in the schema and its short one. */
export const capabilityNames: readonly { readonly wire: string; readonly name: string }[] = capabilityEntries
  .filter(({ capability }) => isGrantable(capability))
  .map(({ capability, name }) => ({ wire: Capability[capability], name }))

/** The set that holds nothing. */
export const noCapabilities: CapabilitySet = asSet(0n)

/** The set that holds every capability there is, internal and deprecated ones included. */
export const everyCapability: CapabilitySet = capabilitySetOf(
  capabilityEntries.map((entry) => entry.capability),
)

/** The capability with this short name, such as `groups.list`; undefined for any other text. */
export function capabilityByName(name: string): Capability | undefined {
  return byName.get(name)?.capability
}

/** The short name, such as `groups.list`; undefined for UNKNOWN and for numbers that stand for no capability. */
export function capabilityName(capability: Capability): string | undefined {
  return byNumber.get(capability)?.name
}

/** True when only roles of the operator may hold the capability. */
export function isInternalOnly(capability: Capability): boolean {
  return byNumber.get(capability)?.internalOnly ?? false
}

/** True when a role of an organization may hold the capability: it exists and is not for the operator. */
export function isGrantable(capability: Capability): boolean {
  return byNumber.has(capability) && capability !== Capability.CAP_INTERNAL && !isInternalOnly(capability)
}

/** The set of these capabilities. UNKNOWN and numbers that stand for no capability grant nothing and are left out. */
export function capabilitySetOf(capabilities: Iterable<Capability>): CapabilitySet {
  let bits = 0n
  for (const capability of capabilities) bits |= byNumber.get(capability)?.mask ?? 0n
  return asSet(bits)
}

/** The capabilities in a set, in ascending number. */
export function capabilitiesIn(set: CapabilitySet): Capability[] {
  return capabilityEntries.filter((entry) => (set & entry.mask) !== 0n).map((entry) => entry.capability)
}

/** What at least one of the sets holds. */
export function union(...sets: readonly CapabilitySet[]): CapabilitySet {
  return asSet(sets.reduce((all: bigint, set) => all | set, 0n))
}

/** What both sets hold. */
export function intersect(a: CapabilitySet, b: CapabilitySet): CapabilitySet {
  return asSet(a & b)
}

/** True when `set` holds all of `needed`. */
export function includesAll(set: CapabilitySet, needed: CapabilitySet): boolean {
  return (set & needed) === needed
}

/** The encoding never says fewer bits than this. */
const bitLengthMin = 50

/** A longer claim than this is not a capability set; the highest bit in use is far below. */
const bitLengthMax = 4096

const wordBits = 64
const wordBytes = 8

/**
 * The form in the `cap` claim of a token: the number of bits, then the bits in words of 64 with the lowest word first,
 * each as an unsigned big-endian 64-bit integer; all that in URL-safe base64 with padding.
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
 * Reads a member of the `cap` claim: text from encodeSet, or the older form, an array of enum numbers. Bits and numbers
 * that stand for no capability are left out. Undefined when the value is neither form.
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
