import { ResourceKind } from '@berth/contract/gen/berth/search/v1/search_pb.js'

/** A resource that matches, before its path is known. */
export interface Match {
  readonly kind: ResourceKind
  readonly uid: string
  readonly name: string
  readonly detail: string
  /** uid of the group or repo that contains it; '' for none. */
  readonly parent: string
  readonly digest: string
  readonly updatedMs: number
  /** 0: the whole name; 1: its prefix; 2: the prefix of a word in it. */
  readonly rank: number
}

/** Orders matches: the best first, then the latest, then by name. */
export function compareMatches(a: Match, b: Match): number {
  return a.rank - b.rank || b.updatedMs - a.updatedMs || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
}

/** The kinds that a search finds. */
export const searchedKinds: readonly ResourceKind[] = [
  ResourceKind.ORGANIZATION,
  ResourceKind.FOLDER,
  ResourceKind.REPOSITORY,
  ResourceKind.TAG,
  ResourceKind.MANIFEST,
  ResourceKind.IDENTITY,
  ResourceKind.USER,
  ResourceKind.ROLE,
  ResourceKind.ADVISORY,
]

export interface Found {
  readonly matches: readonly Match[]
  /** Kinds of which more can match. */
  readonly incomplete: readonly ResourceKind[]
}

export const NOTHING: Found = { matches: [], incomplete: [] }
