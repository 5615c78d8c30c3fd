/** What a group's publication says of itself, where no advisory does. */
export interface PublicationSettings {
  /** The package repository, as security databases describe theirs. '' and [] are left out. */
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
  /** As OSV names it: `Wolfi`, `Alpine:v3.20`. */
  readonly ecosystem: string
  /** As package URLs name it: `wolfi`. */
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
