import type { Distribution, ImageContents } from './contents.ts'

/**
 * When the fixes of distributions end, for policies and everything that shows it. The table has the day on which the fixes of each release of a distribution end, without a support contract: for Debian that of its LTS, for
 * others as their projects publish it. Debian and Ubuntu are from `distro-info-data`. A release that is not here ends when its `os-release` says so.
 */

/** Days by the `ID` and the first numbers of the `VERSION_ID` of os-release(5). */
const ends: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  almalinux: { 8: '2029-03-01', 9: '2032-05-31', 10: '2035-05-31' },
  alpine: {
    '3.12': '2022-05-01',
    '3.13': '2022-11-01',
    '3.14': '2023-05-01',
    '3.15': '2023-11-01',
    '3.16': '2024-05-23',
    '3.17': '2024-11-22',
    '3.18': '2025-05-09',
    '3.19': '2025-11-01',
    '3.20': '2026-04-01',
    '3.21': '2026-11-01',
    '3.22': '2027-05-01',
    '3.23': '2027-11-01',
  },
  amzn: { 2018: '2023-12-31', 2: '2026-06-30', 2023: '2029-06-30' },
  centos: { 6: '2020-11-30', 7: '2024-06-30', 8: '2021-12-31' },
  debian: {
    7: '2018-05-31',
    8: '2020-06-30',
    9: '2022-06-30',
    10: '2024-06-30',
    11: '2026-08-31',
    12: '2028-06-30',
    13: '2030-06-30',
  },
  rhel: { 6: '2020-11-30', 7: '2024-06-30', 8: '2029-05-31', 9: '2032-05-31', 10: '2035-05-31' },
  rocky: { 8: '2029-05-31', 9: '2032-05-31', 10: '2035-05-31' },
  ubuntu: {
    '14.04': '2019-04-25',
    '16.04': '2021-04-30',
    '18.04': '2023-05-31',
    '20.04': '2025-05-29',
    '22.04': '2027-06-01',
    '22.10': '2023-07-20',
    '23.04': '2024-01-25',
    '23.10': '2024-07-11',
    '24.04': '2029-05-31',
    '24.10': '2025-07-10',
    '25.04': '2026-01-15',
    '25.10': '2026-07-09',
    '26.04': '2031-05-29',
    '26.10': '2027-07-15',
  },
}

/** Distributions whose packages are replaced all the time, without releases. */
const rolling = new Set(['arch', 'chainguard', 'gentoo', 'opensuse-tumbleweed', 'wolfi'])

/** The end of distributions without one: the last day that calendars of policies have. */
export const NEVER_MS = Date.UTC(9999, 11, 31)

const known = new Map(
  Object.entries(ends).flatMap(([id, releases]) =>
    Object.entries(releases).map(([release, day]) => [`${id} ${release}`, Date.parse(day)] as const),
  ),
)

/**
 * Returns the day on which the fixes of a release end, as milliseconds since 1970 (UTC), and `NEVER_MS` for rolling distributions. Releases
 * of point versions, such as 3.20.1, have that of their series. The table counts more than what the image states. Returns undefined if
 * neither has the release.
 */
export function endOfLifeMs({ id, versionId, supportEndMs }: Omit<Distribution, 'name'>): number | undefined {
  if (rolling.has(id)) return NEVER_MS
  const [major = '', minor = ''] = versionId.split('.')
  return known.get(`${id} ${major}.${minor}`) ?? known.get(`${id} ${major}`) ?? supportEndMs
}

/** Returns the same, without an end of rolling distributions. */
export function lastDayMs(distribution: Omit<Distribution, 'name'> | undefined): number | undefined {
  const end = distribution && endOfLifeMs(distribution)
  return end === NEVER_MS ? undefined : end
}

/** Types of package URLs whose packages belong to a distribution, which decides about their versions and their end of life. */
export const distributionTypes: ReadonlySet<string> = new Set(['alpm', 'apk', 'deb', 'opkg', 'rpm'])

/** Returns contents whose packages have an end of life: that in the SBOM, else that of their distribution. */
export function withEndOfLife(contents: ImageContents): ImageContents {
  const endOfLifeMs = lastDayMs(contents.distribution)
  if (endOfLifeMs === undefined) return contents
  const packages = contents.packages.map((one) =>
    distributionTypes.has(one.type) ? { endOfLifeMs, ...one } : one,
  )
  return { ...contents, packages }
}
