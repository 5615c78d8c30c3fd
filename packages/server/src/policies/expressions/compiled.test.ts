import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, limits } from '../../config/limits.ts'
import type { ImageFacts } from '../facts/image-facts.ts'
import type { Parameters } from '../rules/parameters.ts'
import { compileExpression, isRule, validateExpression } from './compiled.ts'

const now = Date.parse('2026-11-23T00:00:00Z')

const image: ImageFacts = {
  repository: 'tools/app',
  tag: 'v1.2.3',
  tags: ['v1.2.3', 'stable'],
  digest: `sha256:${'a'.repeat(64)}`,
  pushed: now - 2 * DAY_MS,
  annotations: new Map([['org.example/team', 'core']]),
  signers: [{ name: 'release@example.com', verifier: '' }],
  created: now - 10 * DAY_MS,
  labels: new Map([['tier', 'gold']]),
  platform: 'linux/amd64',
  base_name: 'docker.io/library/debian:12',
  base_digest: '',
  contents_known: true,
  packages: new Map([
    ['openssl', ['3.0.1']],
    ['log4j', ['2.17.0', '1.2.17']],
  ]),
  licenses: ['MIT', 'GPL-3.0-only'],
  vulnerabilities: [
    { id: 'CVE-2026-1', severity: 'critical', fixed: true, days: 3, epss: 0.25 },
    { id: 'CVE-2026-2', severity: 'low', fixed: false, days: 400, epss: 0 },
  ],
  known_exploited: [{ id: 'CVE-2026-1', days: 1 }],
  distribution: 'debian:12',
  end_of_life: now + 100 * DAY_MS,
}

async function evaluate(expression: string, parameters: Parameters = {}, facts: Partial<ImageFacts> = image) {
  const rule = await compileExpression(expression)
  assert.ok(isRule(rule), JSON.stringify(rule))
  return rule.evaluate(facts, parameters, now) === undefined
}

describe('expressions of policies', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['true', true],
    ['image.tag == "v1.2.3"', true],
    ['image.tag != "latest" && image.tags.size() == 2', true],
    ['image.tags.exists(t, t.startsWith("v"))', true],
    ['image.tags.all(t, t.matches("^v[0-9.]+$"))', false],
    ['image.tags.exists_one(t, t.matches("[0-9]"))', true],
    ['image.tag.matches("2")', true],
    ['image.repository.startsWith("tools/")', true],
    ['image.digest.startsWith("sha256:")', true],
    ['now - image.pushed < duration("72h")', true],
    ['now - image.created < duration("72h")', false],
    ['image.end_of_life > now', true],
    ['image.created > timestamp("2026-11-01T00:00:00Z")', true],
    ['image.labels["tier"] == "gold"', true],
    ['has(image.labels.tier) && !has(image.labels.other)', true],
    ['image.annotations["org.example/team"] in ["core", "edge"]', true],
    ['"openssl" in image.packages', true],
    ['!("log4j" in image.packages) || image.packages["log4j"].all(v, v.startsWith("2."))', false],
    ['image.vulnerabilities.all(v, v.severity != "critical")', false],
    ['image.vulnerabilities.all(v, !(v.severity == "critical" && v.fixed && v.days > 7))', true],
    ['image.vulnerabilities.exists(v, v.id == "CVE-2026-2" && !v.fixed)', true],
    ['image.vulnerabilities.exists(v, v.epss > 0.2)', true],
    ['image.vulnerabilities.all(v, v.epss < 0.2)', false],
    ['image.known_exploited.size() == 0', false],
    ['image.licenses.all(l, !l.startsWith("GPL"))', false],
    ['"release@example.com" in image.signers', true],
    ['image.contents_known', true],
    ['image.platform == "linux/amd64" ? image.base_name.contains("debian") : false', true],
    ['// a comment\nimage.tag != ""', true],
  ]
  for (const [expression, allowed] of cases)
    test(`${expression} is ${allowed}`, async () => assert.equal(await evaluate(expression), allowed))

  test('parameters have their declared types and defaults', async () => {
    const text = `// param days: integer = 30 -- age in days
// param tags: string_list
// param strict: boolean = false
now - image.created < duration("24h") * 1 || params.days > 9 && image.tag in params.tags && !params.strict`
    const rule = await compileExpression(text.replace(' * 1', ''))
    assert.ok(isRule(rule), JSON.stringify(rule))
    assert.deepEqual(rule.parameters, [
      { name: 'days', type: 'integer', description: 'age in days', default: 30 },
      { name: 'tags', type: 'string_list', description: '' },
      { name: 'strict', type: 'boolean', description: '', default: false },
    ])
    assert.equal(rule.evaluate(image, { days: 10, tags: ['v1.2.3'], strict: false }, now), undefined)
    assert.notEqual(rule.evaluate(image, { days: 9, tags: ['v1.2.3'], strict: false }, now), undefined)
  })

  test('needs the facts that it names, and no others', async () => {
    const rule = await compileExpression('image.tags.exists(t, t == image.tag) || has(image.labels.a)')
    assert.ok(isRule(rule))
    assert.deepEqual(new Set(rule.needs({})), new Set(['tags', 'tag', 'labels']))
  })

  test('a missing key cannot be evaluated', async () => {
    const rule = await compileExpression('image.labels["missing"] == "x"')
    assert.ok(isRule(rule))
    assert.throws(() => rule.evaluate(image, {}, now), /missing/)
  })

  test(`visits at most policyEvaluationStepsMax (${limits.policyEvaluationStepsMax}) elements`, async () => {
    const packages = new Map(Array.from({ length: 200 }, (_, at) => [`p${at}`, ['1']] as const))
    const rule = await compileExpression('image.packages.all(a, image.packages.all(b, a == b || true))')
    assert.ok(isRule(rule))
    assert.throws(() => rule.evaluate({ ...image, packages }, {}, now), /more than 20000 steps/)
    assert.equal(
      rule.evaluate({ ...image, packages: new Map([...packages].slice(0, 100)) }, {}, now),
      undefined,
    )
  })
})

const long = (text: string, times: number) => Array(times).fill(text)

describe('bad expressions', () => {
  const cases: readonly (readonly [
    name: string,
    text: string,
    message: RegExp,
    line?: number,
    column?: number,
  ])[] = [
    ['empty', '', /is empty/, 0],
    ['blank', ' \n\t', /is empty/, 0],
    ['only a comment', '// nothing', /end of input|is empty/],
    ['too long', `"${'x'.repeat(limits.policyExpressionCharsMax)}" == ""`, /more than 2048 characters/, 0],
    ['zero character', 'image.tag == "\0"', /control characters/, 0],
    ['syntax error', 'image.tag ==', /found/, 1],
    ['syntax error on line 2', 'image.tag == "a" &&\n  == 3', /found/],
    ['two expressions', 'true true', /found/, 1],
    ['Rego', 'package x\ndefault allow = false', /reserved identifier/, 1],
    ['unclosed bracket', '(true', /found/],
    ['unclosed text', 'image.tag == "v', /found/],
    ['assignment', 'image.tag = "v"', /found/],
    ['unknown variable', 'images.tag == "v"', /images is unknown/, 1, 1],
    ['unknown variable on line 2', 'true &&\n foo', /foo is unknown/, 2, 2],
    ['unknown fact', 'image.size > 1', /image\.size is unknown/, 1],
    ['the image as a whole', 'image == 1', /image can only be used with a member/, 1, 1],
    ['a fact by index', 'image["tag"] == "v"', /can only be used with a member/, 1, 1],
    ['the parameters as a whole', 'size(params) > 1', /params can only be used/, 1],
    ['undeclared parameter', 'params.days > 1', /parameter days is not declared/, 1],
    ['prototype member', 'image.constructor == 1', /image\.constructor is unknown/],
    ['prototype parameter', 'params.__proto__ == 1', /__proto__ is not declared/],
    ['unknown function', 'fetch("http://x") == 1', /function fetch is unknown/],
    ['unknown method', 'image.tag.upper() == "A"', /function upper is unknown/],
    ['unknown type', 'Foo{a: 1} == 1', /type Foo is unknown/],
    ['a well-known type', 'google.protobuf.Timestamp{seconds: 1} == now', /type .* is unknown/],
    ['a text', '"true"', /must be true or false/, 0],
    ['a number', '1 + 1', /must be true or false/, 0],
    ['a list', 'image.tags', /must be true or false/, 0],
    ['a fact of text', 'image.tag', /must be true or false/, 0],
    ['types that do not match', 'image.tag + 1 == 1', /no matching overload/, 1],
    ['order of text and number', 'image.tag < 1', /no matching overload/],
    ['loop over a text', 'image.tag.all(t, true)', /type mismatch|iterable/],
    ['map', 'image.tags.map(t, t).size() == 1', /map and filter are not supported/],
    ['filter', 'image.tags.filter(t, true).size() == 1', /map and filter are not supported/],
    ['variable in place of image', 'image.tags.all(image, true)', /cannot be the variable of a loop/],
    [
      'three loops',
      'image.tags.all(a, image.tags.all(b, image.tags.all(c, true)))',
      /nested in at most 2 levels/,
    ],
    ['brackets', `${'('.repeat(33)}true${')'.repeat(33)}`, /brackets are nested deeper than 32/, 1, 33],
    ['brackets without end', '('.repeat(1000), /brackets are nested deeper/],
    ['lists', `${'['.repeat(40)}${']'.repeat(40)} == []`, /brackets are nested deeper/],
    ['conditions', `${'true ? true : '.repeat(100)}true`, /nested deeper than 32/],
    ['members', `image.labels${'.a'.repeat(100)} == 1`, /nested deeper than 32/],
    ['values', `1 in [${long('1', 600)}]`, /more than 500 operations and values/],
    ['pattern from a fact', 'image.tag.matches(image.platform)', /must be a text constant/],
    [
      'pattern from a parameter',
      '// param p: string\nimage.tag.matches(params.p)',
      /must be a text constant/,
      2,
    ],
    ['invalid pattern', 'image.tag.matches("(")', /the pattern/],
    ['pattern with a look-behind', 'image.tag.matches("(?<=a)b")', /the pattern/],
    ['pattern with a back reference', 'image.tag.matches("(a)\\\\1")', /the pattern/],
    ['pattern with large repetitions', 'image.tag.matches("((a{1000}){1000}){1000}")', /the pattern/],
    ['long pattern', `image.tag.matches("${'a'.repeat(1500)}")`, /the pattern/],
    ['parameter without a type', '// param days\ntrue', /is declared as/, 1, 0],
    ['parameter with an unknown type', '// param days: float\ntrue', /type of a parameter must be/, 1],
    ['parameter with a bad name', '// param Days: integer\ntrue', /name of a parameter must match/, 1],
    ['reserved parameter', '// param allow_unknown: boolean\ntrue', /every policy has/, 1],
    [
      'default of another type',
      '// param days: integer = "a"\ntrue',
      /default of days must be a whole number/,
      1,
    ],
    ['default that is not JSON', '// param days: integer = x\ntrue', /default of days/, 1],
    ['default with a fraction', '// param days: integer = 1.5\ntrue', /must be a whole number/, 1],
    ['default of mixed types', '// param a: string_list = ["a", 1]\ntrue', /must be a list of texts/, 1],
    ['parameter declared twice', '// param a: string\n// param a: integer\ntrue', /declared twice/, 0],
    [
      'too many parameters',
      `${Array.from({ length: 33 }, (_, at) => `// param a${at}: string\n`).join('')}true`,
      /more than 32 parameters/,
    ],
  ]
  for (const [name, text, message, line, column] of cases)
    test(name, async () => {
      const problems = await validateExpression(text, [])
      assert.ok(problems.length > 0 && problems.length <= limits.policyDiagnosticsMax)
      const found = problems.find((problem) => message.test(problem.message))
      assert.ok(found, JSON.stringify(problems))
      if (line !== undefined) assert.equal(found.line, line)
      if (column !== undefined) assert.equal(found.column, column)
    })

  test('problems are in the order of the text', async () => {
    const problems = await validateExpression('foo ||\n  bar ||\n baz', [])
    assert.deepEqual(
      problems.map(({ line, column }) => [line, column]),
      [
        [1, 1],
        [2, 3],
        [3, 2],
      ],
    )
  })
})
