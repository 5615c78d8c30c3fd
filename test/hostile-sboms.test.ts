import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAttestation } from '@berth/image-contents/attestations/read-attestation.ts'
import { documentLimits } from '@berth/image-contents/documents/document-limits.ts'
import { readScannerReport } from '@berth/image-contents/reports/read-scanner-report.ts'
import { readSbom } from '@berth/image-contents/sbom/read-sbom.ts'
import fc from 'fast-check'
import { hostileSboms } from './support/contents/hostile-sboms.ts'
import { type HostileDocument, hostileText, json } from './support/contents/hostile-text.ts'
import { documentPaths, readDocumentFile } from './support/contents/sbom-documents.ts'

/** Every hostile document ends in a reason, within the limits. Attacks on time would exceed the time of the test run. */

function outcomeOf(read: () => { readonly count: number; readonly problems: readonly string[] }) {
  try {
    return read()
  } catch (error) {
    assert.ok(error instanceof Error && error.name === 'DocumentProblem', String(error))
    assert.match(error.message, /^[\x20-\x7e…]{1,300}$/)
    return { count: 0, problems: [error.message] }
  }
}

function check({ name, reason, read = 0 }: HostileDocument, outcome: ReturnType<typeof outcomeOf>): void {
  assert.equal(outcome.count, read, name)
  if (reason === undefined) assert.deepEqual(outcome.problems, [], name)
  else assert.match(outcome.problems[0] ?? '', reason, name)
}

const readers = {
  SBOM: (bytes: Uint8Array) => {
    const { packages, problems } = readSbom(bytes).contents
    return { count: packages.length, problems: problems.map(({ reason }) => reason) }
  },
  attestation: (bytes: Uint8Array) => ({ count: readAttestation(bytes).subjects.length, problems: [] }),
  report: (bytes: Uint8Array) => ({ count: readScannerReport(bytes).vulnerabilities.length, problems: [] }),
}

for (const [kind, reader] of Object.entries(readers)) {
  test(`${kind}: bytes that are no bounded JSON`, () => {
    for (const document of hostileText)
      check(
        document,
        outcomeOf(() => reader(document.build())),
      )
  })
}

test('SBOMs that attack their reader', () => {
  assert.ok(hostileText.length + hostileSboms.length >= 80)
  for (const document of hostileSboms)
    check(
      document,
      outcomeOf(() => readers.SBOM(document.build())),
    )
})

const statement = (rest: object) => ({
  _type: 'https://in-toto.io/Statement/v1',
  predicateType: 'https://spdx.dev/Document',
  subject: [],
  predicate: {},
  ...rest,
})
const envelope = (payload: string, rest: object = {}) =>
  json({ payloadType: 'application/vnd.in-toto+json', payload, signatures: [], ...rest })
const encoded = (value: unknown) => json(value).toString('base64')
const { attestationSignaturesMax, attestationSubjectsMax, reportCharsMax, reportFindingsMax } = documentLimits

const attestations: readonly HostileDocument[] = [
  {
    name: 'an unknown statement',
    build: () => json(statement({ _type: 'https://in-toto.io/Statement/v9' })),
    reason: /not an in-toto statement/,
  },
  {
    name: 'no predicate type',
    build: () => json(statement({ predicateType: null })),
    reason: /has no predicateType$/,
  },
  {
    name: 'a predicate type with a line break',
    build: () => json(statement({ predicateType: 'a\nb' })),
    reason: /its predicateType has control/,
  },
  { name: 'no predicate', build: () => json(statement({ predicate: null })), reason: /has no predicate$/ },
  {
    name: 'a predicate as a number',
    build: () => json(statement({ predicate: 1e300 })),
    reason: /has no predicate$/,
  },
  {
    name: 'a subject as text',
    build: () => json(statement({ subject: 'all' })),
    reason: /^subject is not a list$/,
  },
  {
    name: 'too many subjects',
    build: () => json(statement({ subject: new Array(attestationSubjectsMax + 1).fill({}) })),
    reason: new RegExp(`subject has more than ${attestationSubjectsMax} entries$`),
  },
  {
    name: 'a digest that is none',
    build: () => json(statement({ subject: [{ digest: { sha256: '../..' } }] })),
    read: 1,
  },
  {
    name: 'an envelope of another type',
    build: () => envelope('e30=', { payloadType: 'text/\u202ehtml' }),
    reason: /of the type "text\/ html"/,
  },
  { name: 'an envelope without base64', build: () => envelope('{}'), reason: /is not base64$/ },
  { name: 'an envelope without a payload', build: () => envelope(''), reason: /has no payload$/ },
  { name: 'a payload as a number', build: () => envelope(5 as unknown as string), reason: /has no payload$/ },
  { name: 'a payload that is no JSON', build: () => envelope('AAAA'), reason: /binary$/ },
  { name: 'gzip in a payload', build: () => envelope('H4sIAAAAAAAA'), reason: /compressed with gzip$/ },
  {
    name: 'nesting in a payload',
    build: () => envelope(Buffer.from(`{"a":${'['.repeat(100_000)}`).toString('base64')),
    reason: /nested deeper/,
  },
  {
    name: 'too many signatures',
    build: () =>
      envelope(encoded(statement({})), { signatures: new Array(attestationSignaturesMax + 1).fill({}) }),
    reason: /^signatures has more than/,
  },
  {
    name: 'an envelope in an envelope',
    build: () => envelope(encoded({ payload: 'e30=' })),
    reason: /not an in-toto statement/,
  },
  {
    name: 'a bundle without an envelope',
    build: () => json({ mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json', messageSignature: {} }),
    reason: /has no DSSE envelope$/,
  },
]

test('attestations that attack their reader', () => {
  for (const document of attestations)
    check(
      document,
      outcomeOf(() => readers.attestation(document.build())),
    )
})

const sarif = (rules: unknown, results: unknown) =>
  json({ version: '2.1.0', runs: [{ tool: { driver: { name: 'x', rules } }, results }] })

const reports: readonly HostileDocument[] = [
  { name: 'no report', build: () => json({ matches: 1 }), reason: /not a report of grype/ },
  {
    name: 'a match without a vulnerability',
    build: () => json({ descriptor: {}, matches: [{}] }),
    reason: /has no vulnerability$/,
  },
  {
    name: 'a finding without an id',
    build: () => json({ descriptor: {}, matches: [{ vulnerability: {} }] }),
    reason: /^a finding has no id$/,
  },
  {
    name: 'an id with a direction',
    build: () => json({ descriptor: {}, matches: [{ vulnerability: { id: 'CVE-\u202e1' } }] }),
    reason: /its id has control/,
  },
  { name: 'results as text', build: () => sarif([], 'all'), reason: /^results is not a list$/ },
  {
    name: 'a result without a rule',
    build: () => sarif([], [{ ruleIndex: 1e300 }]),
    reason: /^a finding has no ruleId$/,
  },
  {
    name: 'too many findings',
    build: () =>
      Buffer.from(
        `{"scanner":{"result":[${new Array(reportFindingsMax + 1).fill('{"id":"CVE-1"}').join()}]}}`,
      ),
    reason: new RegExp(`result has more than ${reportFindingsMax} entries$`),
  },
  {
    name: 'one rule with a long text for many results',
    build: () =>
      sarif(
        [{ id: 'CVE-1', fullDescription: { text: 'x'.repeat(60_000) } }],
        new Array(50_000).fill({ ruleId: 'CVE-1' }),
      ),
    reason: new RegExp(`more than ${reportCharsMax} characters together$`),
  },
  {
    name: 'one rule with many package URLs for many results',
    build: () =>
      sarif(
        [{ id: 'CVE-1', properties: { purls: new Array(1000).fill('x'.repeat(2000)) } }],
        new Array(100_000).fill({ ruleId: 'CVE-1' }),
      ),
    read: 100_000,
  },
  {
    name: 'one component with many locations for many findings',
    build: () =>
      json({
        bomFormat: 'CycloneDX',
        components: [
          {
            'bom-ref': 'a',
            evidence: { occurrences: Array.from({ length: 1000 }, (_, at) => ({ location: `${at}` })) },
          },
        ],
        vulnerabilities: new Array(300).fill({ id: 'CVE-1', affects: new Array(1000).fill({ ref: 'a' }) }),
      }),
    read: 300,
  },
  {
    name: 'reports in reports',
    build: () => json({ scanner: { result: { scanner: { result: [] } } } }),
    reason: /^result is not a list$/,
  },
  {
    name: 'scores out of range',
    build: () =>
      Buffer.from(
        '{"descriptor":{},"matches":[{"vulnerability":{"id":"CVE-1","severity":"constructor","cvss":[{"version":"3.1","metrics":{"baseScore":1e999}},{"version":"3.1","metrics":{"baseScore":-1}}],"fix":{"state":"toString","versions":[1,null]}}}]}',
      ),
    read: 1,
  },
]

test('reports that attack their reader', () => {
  for (const document of reports)
    check(
      document,
      outcomeOf(() => readers.report(document.build())),
    )
})

test('real documents with random damage end in a reason or are read', () => {
  const paths = documentPaths().filter((path) => !path.includes('v11.1.2') && !path.includes('dropwizard'))
  fc.assert(
    fc.property(
      fc.constantFrom(...paths),
      fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(...'{}[]":,0x\\ \u0000')),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
      (path, edits) => {
        const bytes = Buffer.from(readDocumentFile(path))
        for (const [where, character] of edits)
          bytes[Math.floor(where * (bytes.length - 1))] = character.charCodeAt(0)
        for (const reader of Object.values(readers)) outcomeOf(() => reader(bytes))
      },
    ),
    { numRuns: 400 },
  )
})

test('real documents with values of other kinds end in a reason or are read', () => {
  const paths = documentPaths().filter((path) => /syft|apko|trivy|xray|certify/.test(path))
  const strange = [
    null,
    0,
    -1e300,
    true,
    '',
    'constructor',
    [],
    [null],
    {},
    { length: 3 },
    'x'.repeat(10_000),
  ]
  fc.assert(
    fc.property(fc.constantFrom(...paths), fc.nat(), fc.constantFrom(...strange), (path, seed, value) => {
      const document = replaceValue(JSON.parse(readDocumentFile(path).toString()), seed, value)
      for (const reader of Object.values(readers)) outcomeOf(() => reader(json(document)))
    }),
    { numRuns: 1500 },
  )
})

/** Replaces one of the values at any depth. */
function replaceValue(root: object, seed: number, value: unknown): object {
  const places: [holder: Record<string, unknown>, name: string][] = []
  const visit = (holder: Record<string, unknown>) => {
    for (const [name, inner] of Object.entries(holder)) {
      places.push([holder, name])
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>)
    }
  }
  visit(root as Record<string, unknown>)
  const [holder, name] = places[seed % places.length]!
  holder[name] = value
  return root
}
