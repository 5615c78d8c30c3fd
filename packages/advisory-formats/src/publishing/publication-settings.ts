/** Values of a group's publication for fields that no advisory has. */
export interface PublicationSettings {
  /** The package repository, as in security databases. '' and [] are omitted. */
  readonly secdb: SecdbSettings
  /** The distribution that `apk` artifacts belong to. */
  readonly distribution: Distribution
}

export interface SecdbSettings {
  readonly apkurl: string
  readonly archs: readonly string[]
  readonly reponame: string
  readonly urlprefix: string
  readonly distroversion: string
}

export interface Distribution {
  /** Name in OSV: `Wolfi`, `Alpine:v3.20`. */
  readonly ecosystem: string
  /** Name in package URLs: `wolfi`. */
  readonly namespace: string
}

export const defaultPublicationSettings: PublicationSettings = {
  secdb: {
    apkurl: '{{urlprefix}}/{{reponame}}/{{arch}}/{{pkg.name}}-{{pkg.ver}}.apk',
    archs: ['x86_64', 'aarch64'],
    reponame: 'os',
    urlprefix: '',
    distroversion: '',
  },
  distribution: { ecosystem: 'Wolfi', namespace: 'wolfi' },
}
