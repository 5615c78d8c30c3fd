/** Catalogs of CVEs, in the formats in which they are published. */

/** An entry as CISA publishes it. */
export const LOG4SHELL = {
  cveID: 'CVE-2021-44228',
  vendorProject: 'Apache',
  product: 'Log4j2',
  vulnerabilityName: 'Apache Log4j2 Remote Code Execution Vulnerability',
  dateAdded: '2021-12-10',
  shortDescription: 'Attackers can load code.',
  requiredAction: 'Apply mitigations.',
  dueDate: '2021-12-24',
  knownRansomwareCampaignUse: 'Known',
  notes: 'https://nvd.nist.gov/vuln/detail/CVE-2021-44228',
  cwes: ['CWE-20', 'CWE-502'],
}

export function kev(entries: readonly object[], released = '2026-11-25T15:00:00.000Z'): string {
  const vulnerabilities = entries.map((entry) => ({ dateAdded: '2026-01-02', ...entry }))
  return JSON.stringify({
    title: 'CISA Catalog of Known Exploited Vulnerabilities',
    catalogVersion: '2026.11.25',
    dateReleased: released,
    count: vulnerabilities.length,
    vulnerabilities,
  })
}

export function epss(
  scores: Readonly<Record<string, readonly [probability: number, percentile: number]>>,
  day = '2026-11-25',
): string {
  const lines = Object.entries(scores).map(
    ([cve, [probability, percentile]]) => `${cve},${probability},${percentile}`,
  )
  return `#model_version:v2025.03.14,score_date:${day}T12:55:00Z\ncve,epss,percentile\n${lines.join('\n')}\n`
}
