import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Format } from '@berth/advisory-formats/advisory-record.ts'
import { blockOf, factsIn } from '@berth/advisory-formats/exploitation/cve-facts.ts'
import { formatLimits } from '@berth/advisory-formats/limits.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'
import { epss, kev, LOG4SHELL } from './support/advisories/catalogs.ts'

/** Catalogs of CVEs: what is read of KEV and EPSS, and what is rejected. */

const read = (text: string, format: Format | '' = '', name = 'catalog') =>
  readDocument(name, format, Buffer.from(text))

function documentOf(text: string, format: Format | '' = '') {
  const result = read(text, format)
  assert.ok('document' in result, JSON.stringify(result))
  return result.document
}

test('a KEV catalog has facts and weaknesses by CVE, whatever its order', () => {
  const document = documentOf(kev([LOG4SHELL, { cveID: 'CVE-2014-0160', cwes: ['NVD-CWE-noinfo'] }]))
  assert.equal(document.format, 'kev')
  assert.equal(document.id, 'CISA Catalog of Known Exploited Vulnerabilities')
  assert.equal(document.revisionMs, Date.parse('2026-11-25T15:00:00.000Z'))
  const [first, second] = document.cveBlocks ?? []
  assert.deepEqual([first?.block, second?.block], ['CVE-2014-0', 'CVE-2021-44'])
  assert.deepEqual(
    [...factsIn(second?.lines ?? '', new Set(['CVE-2021-44228', 'CVE-2021-44999']))],
    [
      [
        'CVE-2021-44228',
        {
          added: '2021-12-10',
          due: '2021-12-24',
          isRansomware: true,
          name: 'Apache Log4j2 Remote Code Execution Vulnerability',
          action: 'Apply mitigations.',
        },
      ],
    ],
  )
  assert.deepEqual(document.scores, [
    { alias: 'CVE-2021-44228', component: '', severities: [], cwes: ['CWE-20', 'CWE-502'] },
  ])
  const unmapped = document.unmapped.map(({ path }) => path).sort()
  assert.deepEqual(unmapped, [
    'vulnerabilities[].cwes[]',
    'vulnerabilities[].notes',
    'vulnerabilities[].product',
    'vulnerabilities[].shortDescription',
    'vulnerabilities[].vendorProject',
  ])
  // The same facts are the same text.
  const reversed = documentOf(kev([{ cveID: 'CVE-2014-0160', cwes: [] }, LOG4SHELL]), 'kev')
  assert.deepEqual(reversed.cveBlocks, document.cveBlocks)
})

test('an EPSS catalog has a probability and a percentile by CVE', () => {
  const document = documentOf(epss({ 'CVE-2021-44228': [0.94358, 0.99963], 'CVE-1999-0001': [1e-5, 0] }))
  assert.equal(document.format, 'epss')
  assert.equal(document.revisionMs, Date.parse('2026-11-25T12:55:00Z'))
  assert.deepEqual(document.cveBlocks, [
    { block: 'CVE-1999-0', lines: 'CVE-1999-0001 [0.00001,0]' },
    { block: 'CVE-2021-44', lines: 'CVE-2021-44228 [0.94358,0.99963]' },
  ])
  // Earlier files have another form of time; files may have another end of line.
  const earlier =
    '#model_version:v2021.04.14,score_date:2021-04-14T00:00:00+0000\r\ncve,epss,percentile\r\nCVE-2020-5902,0.65117,1\r\n'
  assert.equal(documentOf(earlier).revisionMs, Date.parse('2021-04-14T00:00:00Z'))
  // Every CVE of a file of the size that is published.
  const all = Object.fromEntries(
    Array.from({ length: 300_000 }, (_, at) => [`CVE-${2000 + (at % 27)}-${1000 + at}`, [0.5, 0.5] as const]),
  )
  const blocks = documentOf(epss(all)).cveBlocks ?? []
  const listed = blocks.reduce((sum, { lines }) => sum + lines.split('\n').length, 0)
  assert.equal(listed, 300_000)
})

test('a block has a thousand CVEs of a year', () => {
  for (const [id, block] of [
    ['CVE-1999-0001', 'CVE-1999-0'],
    ['CVE-2021-44000', 'CVE-2021-44'],
    ['CVE-2021-44999', 'CVE-2021-44'],
    ['CVE-2021-1044999', 'CVE-2021-1044'],
    ['CVE-2021-123', undefined],
    ['GHSA-2222-3333-4444', undefined],
  ] as const)
    assert.equal(blockOf(id), block)
})

const head = '#model_version:v1,score_date:2026-11-25T12:55:00Z\ncve,epss,percentile\n'

/** Rejections: about, document, line and reason, format. */
const rejected: readonly (readonly [string, string, RegExp, (Format | '')?])[] = [
  ['KEV without a title', '{"catalogVersion": "1",\n"vulnerabilities": []}', /^1: the document lacks title$/],
  [
    'KEV without a time',
    '{"title": "t", "catalogVersion": "1", "vulnerabilities": []}',
    /lacks dateReleased$/,
  ],
  ['KEV with another ID', kev([{ cveID: 'GHSA-2222-3333-4444' }]), /cveID must be a CVE ID$/],
  ['KEV with text as an ID', kev([{ cveID: 'x y' }]), /must be an id such as CVE/],
  [
    'KEV with a CVE twice',
    kev([LOG4SHELL, LOG4SHELL]),
    /vulnerabilities\[1\]\.cveID repeats CVE-2021-44228$/,
  ],
  ['KEV without a day', kev([{ cveID: 'CVE-2021-1000', dateAdded: '' }]), /dateAdded must not be empty$/],
  ['KEV with an impossible day', kev([{ cveID: 'CVE-2021-1000', dateAdded: '2021-13-01' }]), /a day such as/],
  [
    'KEV with a time as a day',
    kev([{ cveID: 'CVE-2021-1000', dueDate: '2021-01-01T00:00:00Z' }]),
    /a day such as/,
  ],
  [
    'KEV with a list as a name',
    kev([{ cveID: 'CVE-2021-1000', vulnerabilityName: [] }]),
    /must be a string$/,
  ],
  [
    'EPSS without its first line',
    'cve,epss,percentile\nCVE-2021-1000,0.1,0.1\n',
    /^1: must start with a line such as/,
  ],
  ['EPSS without a time', '#model_version:v1,score_date:today\n', /^1: must start with a line such as/],
  [
    'EPSS without columns',
    '#model_version:v1,score_date:2026-11-25T12:55:00Z\n',
    /must have the columns cve,epss/,
  ],
  [
    'EPSS with other columns',
    head.replace('percentile', 'rank'),
    /^2: must have the columns cve,epss,percentile$/,
  ],
  ['EPSS with another ID', `${head}GHSA-2222-3333-4444,0.1,0.1\n`, /^3: must be a CVE ID, a probability/],
  ['EPSS with a column too many', `${head}CVE-2021-1000,0.1,0.1,1\n`, /^3: must be a CVE ID, a probability/],
  [
    'EPSS with a CVE twice',
    `${head}CVE-2021-1000,0.1,0.1\nCVE-2021-1000,0.1,0.1\n`,
    /^4: repeats CVE-2021-1000$/,
  ],
  ...['', '1.01', '-0.1', 'NaN', 'Infinity', '0x1', '1e999'].map(
    (value) =>
      [
        `EPSS with the probability ${JSON.stringify(value)}`,
        `${head}CVE-2021-1000,${value},0.1\n`,
        /^3: has a probability that is not a number from 0 to 1$/,
      ] as const,
  ),
  ['EPSS without a percentile', `${head}CVE-2021-1000,0.1\n`, /has a percentile that is not a number/],
  ['another document as EPSS', '{"id": "x"}', /^1: must start with a line such as/, 'epss'],
  [
    'another document as KEV',
    '{"id": "CVE-2021-1000", "modified": "2021-01-01T00:00:00Z"}',
    /lacks title$/,
    'kev',
  ],
  [
    'EPSS with more blocks than the limit',
    head +
      Array.from(
        { length: formatLimits.advisoryCatalogBlocksMax + 1 },
        (_, at) => `CVE-2021-${(at + 1) * 1000},0,0\n`,
      ).join(''),
    /exceeds the limit of 10000 blocks of a thousand CVE numbers$/,
  ],
  [
    'EPSS with more CVEs than the limit',
    head +
      Array.from(
        { length: formatLimits.advisoryCatalogCvesMax + 1 },
        (_, at) => `CVE-2021-${1000 + at},0,0\n`,
      ).join(''),
    /exceeds the limit of 1000000 CVEs$/,
  ],
]

for (const [about, text, expected, format = ''] of rejected) {
  test(`rejects ${about}`, () => {
    const result = read(text, format)
    assert.ok('rejection' in result)
    const { line, reason } = result.rejection
    assert.match(`${line}: ${reason}`, expected)
  })
}

test('of what a catalog requires and of its weaknesses, the start is kept', () => {
  const { advisoryCatalogActionCharsMax: max, advisoryCwesMax } = formatLimits
  const cwes = Array.from({ length: advisoryCwesMax + 1 }, (_, at) => `CWE-${at + 1}`)
  const document = documentOf(
    kev([{ cveID: 'CVE-2021-1000', requiredAction: 'a'.repeat(max + 1), cwes: [...cwes, ...cwes] }]),
  )
  const facts = factsIn(document.cveBlocks?.[0]?.lines ?? '', new Set(['CVE-2021-1000']))
  assert.equal((facts.get('CVE-2021-1000') as { readonly action: string }).action.length, max)
  assert.deepEqual(document.scores[0]?.cwes, cwes.slice(0, advisoryCwesMax))
})
