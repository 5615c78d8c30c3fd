import type { Uid } from '../../api/uid.ts'

/** What decides whether a manifest may be pulled. The registry asks it before it sends a manifest; `policies/` implements it. */

/** A manifest that an authorized client asks for. */
export interface Pull {
  readonly repo: Uid
  /** Path of the repo in its organization, such as `tools/app`. */
  readonly repository: string
  /** Path of the repo as the client wrote it. */
  readonly requestedName: string
  readonly digest: string
  /** '' for a pull by digest. */
  readonly tag: string
  readonly mediaType: string
  readonly artifactType: string
  readonly content: Uint8Array
  /** Revision of the policies of the organization, as of the manifest. */
  readonly revision: number
}

export interface PullPolicies {
  /** Returns warnings for the client. Throws DENIED if a policy denies the pull; without waiting if the verdict is known. */
  evaluate(pull: Pull): readonly string[] | Promise<readonly string[]>
}
