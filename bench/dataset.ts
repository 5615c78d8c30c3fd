import type { Shape } from './options.ts'

/** What is in a data set: one organization, groups in it, and an identity that owns it. The same at every generation. */
export interface DataSet {
  readonly groups: number
  readonly shape: Shape
  /** At least so many advisories, all in the first parent; documents are whole. */
  readonly advisories?: number
  /** So many images, whose packages the advisories are about. */
  readonly images?: number
}

export const ORGANIZATION = 'b0'.repeat(20)
/** Owns the organization and nothing else. */
export const CALLER = 'ca'.repeat(20)

export function whatIsIn({ groups, shape, advisories, images }: DataSet): string {
  if (images !== undefined) return `${images} images and ${advisories} advisories`
  return advisories === undefined ? `${groups} groups (${shape})` : `${advisories} advisories`
}

const CHILDREN = 1000

/** Groups directly below the organization. */
export function parentsOf({ groups, shape }: DataSet): string[] {
  const count = shape === 'flat' ? 1 : Math.ceil(groups / CHILDREN)
  return Array.from({ length: count }, (_, index) => `${ORGANIZATION}/${segment(0x40000000 + index)}`)
}

/** The uid of one of the `groups` that the set is named for, below its parents. */
export function groupUid(set: DataSet, parents: readonly string[], index: number): string {
  const parent = parents[set.shape === 'flat' ? 0 : Math.floor(index / CHILDREN)] as string
  return `${parent}/${segment(index)}`
}

/** Some groups, spread over the whole set. */
export function someGroups(set: DataSet, count: number): string[] {
  const parents = parentsOf(set)
  return Array.from({ length: count }, (_, index) => groupUid(set, parents, mix(index + 1) % set.groups))
}

/** A prime that no number of groups is a multiple of. */
const STRIDE = 61_813

/** Each group once; neighbours are far apart. */
export function everyGroup(set: DataSet): string[] {
  const parents = parentsOf(set)
  return Array.from({ length: set.groups }, (_, index) =>
    groupUid(set, parents, (index * STRIDE) % set.groups),
  )
}

/** 16 hex digits in no order; different for different indexes. */
export function segment(index: number): string {
  const half = (value: number) => value.toString(16).padStart(8, '0')
  return half(mix(index)) + half(mix(index ^ 0x5bd1e995))
}

/** A bijection on 32 bits that looks random (the finalizer of MurmurHash3). */
export function mix(value: number): number {
  let bits = value >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return (bits ^ (bits >>> 16)) >>> 0
}
