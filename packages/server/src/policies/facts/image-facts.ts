/**
 * Facts about images that policies evaluate. All of them are stored: a pull reads no layer and asks no other server. Each fact has one provider,
 * and parts of the server that learn more about images add providers (`FactProvider`).
 */

/** Severities of vulnerabilities, the lowest first. */
export const severities = ['unknown', 'negligible', 'low', 'medium', 'high', 'critical'] as const
export type Severity = (typeof severities)[number]

/** A vulnerability that affects an image, by the identifier of its advisory. */
export interface VulnerabilityFact {
  readonly id: string
  readonly severity: Severity
  /** Whether a version of the package without the vulnerability exists. */
  readonly fixed: boolean
  /** Days since it was first found in the package, in any image of the organization. */
  readonly days: number
  /** Probability of its exploitation (EPSS), from 0 to 1; 0 if the catalog does not list it, undefined without a catalog. */
  readonly epss: number | undefined
}

/** A vulnerability of an image that is known to be exploited. */
export interface ExploitedFact {
  readonly id: string
  /** Days since it was found and known to be exploited. */
  readonly days: number
}

/** Who signed an image, as one verifier verified it. */
export interface SignerFact {
  /** Identity of the certificate, or `verifier:` with the name or uid of the verifier. */
  readonly name: string
  /** uid of the verifier. */
  readonly verifier: string
}

/** The facts, by the names that expressions use. Times are milliseconds since 1970. */
export interface ImageFacts {
  /** Path of the repo in its organization, such as `tools/app`. */
  readonly repository: string
  /** Tag in the request; '' for a pull by digest. */
  readonly tag: string
  /** Tags of the manifest, and of the indexes that contain it. */
  readonly tags: readonly string[]
  readonly digest: string
  /** When the manifest was first pushed. */
  readonly pushed: number
  /** Annotations of the manifest. */
  readonly annotations: ReadonlyMap<string, string>
  /**
   * Signers whose signatures of the manifest, or of an index that contains it, are verified. A policy receives those of verifiers in the group
   * that it is bound to and above: who manages a folder cannot declare the signers that the organization requires.
   */
  readonly signers: readonly SignerFact[]
  /** When the image was built, by its configuration. */
  readonly created: number
  /** Labels of the configuration. */
  readonly labels: ReadonlyMap<string, string>
  /** `linux/arm64/v8`. */
  readonly platform: string
  /** Name and digest of the base image (`org.opencontainers.image.base.*`); '' if the image names none. */
  readonly base_name: string
  readonly base_digest: string
  /** Whether the packages in the image are known. */
  readonly contents_known: boolean
  /** Versions of packages, by name. */
  readonly packages: ReadonlyMap<string, readonly string[]>
  /** SPDX expressions of the licenses of packages, without duplicates. */
  readonly licenses: readonly string[]
  readonly vulnerabilities: readonly VulnerabilityFact[]
  readonly known_exploited: readonly ExploitedFact[]
  /** `debian:12`; '' for an image without a distribution. */
  readonly distribution: string
  /** When the distribution stops to get fixes. */
  readonly end_of_life: number
}
export type FactName = keyof ImageFacts

/** A fact that is not known has the reason, which callers see. */
export type Fact<T> = { readonly value: T } | { readonly unknown: string }
export type Facts = { readonly [N in FactName]?: Fact<ImageFacts[N]> }

/** Of which manifests a fact exists: of images and indexes, or of images only, because the images of an index differ in it. */
export const factSubjects: Readonly<Record<FactName, 'manifest' | 'image'>> = {
  repository: 'manifest',
  tag: 'manifest',
  tags: 'manifest',
  digest: 'manifest',
  pushed: 'manifest',
  annotations: 'manifest',
  signers: 'manifest',
  created: 'image',
  labels: 'image',
  platform: 'image',
  base_name: 'image',
  base_digest: 'image',
  contents_known: 'image',
  packages: 'image',
  licenses: 'image',
  vulnerabilities: 'image',
  known_exploited: 'image',
  distribution: 'image',
  end_of_life: 'image',
}

export function isFactName(name: string): name is FactName {
  return Object.hasOwn(factSubjects, name)
}

export const factNames = Object.keys(factSubjects) as FactName[]

/** The manifest that a client pulls. */
export interface PulledManifest {
  /** uid. */
  readonly repo: string
  /** Path of the repo in its organization, such as `tools/app`. */
  readonly repository: string
  readonly digest: string
  /** '' for a pull by digest. */
  readonly tag: string
  readonly mediaType: string
  readonly content: Uint8Array
}

/** Reads some facts of a manifest from what the server has stored. */
export interface FactProvider {
  readonly names: readonly FactName[]
  /** `names`: the requested facts, all of which the provider has. A fact that is missing in the result is not known. */
  read(manifest: PulledManifest, names: readonly FactName[]): Promise<Facts> | Facts
}

/** Reads the facts of a manifest that policies need. */
export type ReadFacts = (manifest: PulledManifest, names: readonly FactName[]) => Promise<Facts>

/** Returns the reader of all facts. A fact without a provider is not known. Throws an Error if two providers have the same fact. */
export function createFactReader(providers: readonly FactProvider[]): ReadFacts {
  const names = providers.flatMap((provider) => provider.names)
  if (new Set(names).size !== names.length) throw new Error('two providers have the same fact')
  return async (manifest, needed) => {
    const parts = await Promise.all(
      providers.map((provider) => {
        const requested = provider.names.filter((name) => needed.includes(name))
        return requested.length === 0 ? {} : provider.read(manifest, requested)
      }),
    )
    return Object.assign({}, ...parts) as Facts
  }
}
