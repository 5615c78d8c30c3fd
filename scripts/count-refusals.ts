import { spawnSync } from 'node:child_process'

/**
 * `node scripts/count-refusals.ts`: runs the tests for requests that sign-in, the token service and the request pipeline reject, on SQLite,
 * and prints the number of cases of each. A case is a test, or a row of a table whose test has the number of rows in its name. Fails if a
 * test fails, or if a table is not found.
 */

interface Table {
  readonly name: string
  readonly files: readonly string[]
  /** Pattern of test names. A number in its first group is the number of cases. */
  readonly tests: RegExp
}

const tables: readonly Table[] = [
  {
    name: 'OAuth: code, refresh token, revocation',
    files: ['test/oauth-code.test.ts'],
    tests: /^R40|^R38|^is not (?:used up|revoked)|reports errors in JSON/,
  },
  { name: 'OAuth: consent', files: ['test/oauth-consent.test.ts'], tests: /^R40/ },
  {
    name: 'device',
    files: ['test/oauth-device.test.ts'],
    tests: /gets no code|R40|without a waiting device|R16|guesses of codes|form of another site/,
  },
  { name: 'headless', files: ['test/headless.test.ts'], tests: /rejected|R40|R16/ },
  { name: 'browser flow', files: ['test/browser-flow.test.ts'], tests: /gets? nothing|rejected/ },
  {
    name: 'providers',
    files: ['test/sign-in-providers.test.ts'],
    tests:
      /\((?:R40|R16|R12|RFC 9207)\)$|^with|^when|^answers|^redirects|^names itself|reject the sign-in \(R15\)$|RFC 9700|of another site/,
  },
  { name: 'mix-up of providers', files: ['test/sign-in-mix-up.test.ts'], tests: /^R40/ },
  {
    name: 'who vouched',
    files: ['packages/server/src/pipeline/vouching.test.ts', 'test/vouching.test.ts'],
    tests: /^(?:ADR 13|R12|R18|R19)/,
  },
  { name: 'members of JWTs', files: ['test/jwt-members.test.ts'], tests: /^R8/ },
  { name: 'before the body is read', files: ['test/headers-first.test.ts'], tests: /^R28|is rejected/ },
  {
    name: 'redirects',
    files: ['packages/server/src/signin/oauth/redirect-uri.test.ts'],
    tests: /^rejects(?: the (\d+) of)?/,
  },
  {
    name: 'SSRF: addresses and URLs',
    files: [
      'packages/server/src/runtime/outbound/address-guard.test.ts',
      'packages/server/src/runtime/outbound/outbound.test.ts',
      'test/sts-issuers.test.ts',
    ],
    tests: /^R2: (?:.*?(\d+) )?/,
  },
  {
    name: 'SSRF: names of issuers, faults of issuers',
    files: ['test/issuer-faults.test.ts'],
    tests: /^R1.*: (\d+) /,
  },
  { name: 'workloads', files: ['test/workloads.test.ts'], tests: /^(\d+) other jobs|opens no identity/ },
  {
    name: 'AWS',
    files: ['test/api/exchange-aws.test.ts'],
    tests: /^(\d+) requests are rejected|is rejected$|assume no|not fetched|must all be/,
  },
  {
    name: 'narrowing',
    files: ['test/api/exchange-platform-tokens.test.ts'],
    tests: /^(\d+) (?:narrowings|combinations)/,
  },
  { name: 'kinds of tokens', files: ['test/token-kinds.test.ts'], tests: /opens nothing|never counts/ },
  { name: 'restart', files: ['test/sign-in-restart.test.ts'], tests: /^R16/ },
  {
    name: 'refresh race',
    files: ['test/api/refresh-tokens.test.ts'],
    tests: /^R13: of (\d+) concurrent uses/,
  },
  { name: 'beginnings', files: ['test/sign-in-beginnings.test.ts'], tests: / / },
  { name: 'several nodes', files: ['test/sign-in-nodes.test.ts'], tests: /^wrong|^sign-in attempts/ },
]

/** Returns the names of the tests without subtests. */
function testsOf(files: readonly string[]): string[] {
  const { stdout, status } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', ...files], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    env: { ...process.env, BERTH_TEST_DATABASES: 'sqlite' },
  })
  if (status !== 0) throw new Error(`tests failed: ${files.join(' ')}`)
  const lines = stdout.split('\n')
  return lines.flatMap((line, at) => {
    const [, indent = '', name = ''] = /^( *)ok \d+ - (.*)$/.exec(line) ?? []
    // A test with subtests comes after its plan, which has a larger indent.
    const isGroup = lines[at - 1]?.startsWith(`${indent}    1..`) ?? false
    return name === '' || isGroup || / # SKIP/.test(name) ? [] : [name]
  })
}

let total = 0
for (const { name, files, tests } of tables) {
  const cases = testsOf(files).reduce((sum, test) => {
    const match = tests.exec(test)
    return match === null ? sum : sum + Number(match[1] ?? 1)
  }, 0)
  if (cases === 0) throw new Error(`no test found for ${name}`)
  total += cases
  process.stdout.write(`${String(cases).padStart(5)}  ${name}\n`)
}
process.stdout.write(`${String(total).padStart(5)}  total\n`)
