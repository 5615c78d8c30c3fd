import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { httpStatusOfError } from '../../api/error-body.ts'
import { ApiError, Code } from '../../api/errors.ts'
import { limits } from '../../config/limits.ts'
import { createBodyBudget } from './body-budget.ts'

describe('the budget of buffered request bodies', () => {
  const first = {}
  const second = {}
  const third = {}
  /** Each step: which connection asks for how many bytes, and whether it gets them. */
  const cases: [string, [object, number, boolean][]][] = [
    ['a request may use all of its connection', [[first, 40, true]]],
    ['no byte more', [[first, 41, false]]],
    [
      'requests of one connection share its budget',
      [
        [first, 30, true],
        [first, 10, true],
        [first, 1, false],
      ],
    ],
    [
      'a refused request counts nothing',
      [
        [first, 41, false],
        [first, 40, true],
      ],
    ],
    [
      'other connections have their own budget',
      [
        [first, 40, true],
        [second, 30, true],
      ],
    ],
    [
      'a connection never holds more than it leaves to others',
      [
        [first, 40, true],
        [second, 30, true],
        [second, 1, false],
        [third, 15, true],
        [third, 1, false],
      ],
    ],
    [
      'an empty body counts nothing',
      [
        [first, 40, true],
        [first, 0, true],
      ],
    ],
  ]
  for (const [name, steps] of cases) {
    test(`R28: ${name}`, () => {
      const budget = createBodyBudget({ perConnectionMax: 40, totalMax: 100 })
      let granted = 0
      for (const [connection, bytes, fits] of steps) {
        const grow = () => budget.open(connection).grow(bytes)
        if (fits) grow()
        else assert.throws(grow, { code: Code.RESOURCE_EXHAUSTED, reason: 'BODY_BUDGET_EXHAUSTED' })
        if (fits) granted += bytes
        assert.equal(budget.buffered, granted)
      }
    })
  }

  test('R28: a client address never holds more than it leaves to others, however many connections it has', () => {
    const isTrustedProxy = (address = '') => address === '10.0.0.1'
    const budget = createBodyBudget({ perConnectionMax: 40, totalMax: 100, isTrustedProxy })
    const holds = (address: string) => {
      const body = budget.open({}, address)
      try {
        for (let bytes = 0; ; bytes++) {
          if (bytes === 20) return bytes
          body.grow(1)
        }
      } catch {
        return 'refused'
      }
    }
    assert.deepEqual([holds('192.0.2.1'), holds('192.0.2.1'), holds('192.0.2.1')], [20, 20, 'refused'])
    assert.equal(holds('2001:db8::1'), 20)
    assert.equal(holds('2001:db8::2'), 'refused', 'the same /64')
    // A proxy serves many clients: each connection of it counts for itself.
    budget.open({}, '10.0.0.1').grow(5)
    budget.open({}, '10.0.0.1').grow(5)
  })

  test('R28: however many connections ask, the process holds no more than its budget', () => {
    const budget = createBodyBudget({ perConnectionMax: 40, totalMax: 100 })
    for (let at = 0; at < 1000; at++) {
      const body = budget.open({})
      assert.throws(() => {
        for (;;) body.grow(1)
      }, ApiError)
      assert.ok(budget.buffered <= 100)
    }
  })

  test('released bytes are free again, once', () => {
    const budget = createBodyBudget({ perConnectionMax: 40, totalMax: 100 })
    const one = budget.open(first)
    const other = budget.open(first)
    one.grow(30)
    other.grow(10)
    one.release()
    one.release()
    assert.equal(budget.buffered, 10)
    one.grow(30)
    assert.throws(() => one.grow(1), ApiError)
    one.release()
    other.release()
    assert.equal(budget.buffered, 0)
  })

  test('a rejection is 503 with a retry delay', () => {
    const body = createBodyBudget({ perConnectionMax: 1, totalMax: 10 }).open(first)
    assert.throws(
      () => body.grow(2),
      (error) =>
        error instanceof ApiError &&
        httpStatusOfError(error) === 503 &&
        error.details.some((detail) => detail.kind === 'RetryInfo' && detail.retryDelayMs > 0),
    )
  })

  test('two of the largest requests fit into one connection (bufferedBytesPerConnectionMax, bufferedBytesMax)', () => {
    const largest = Math.max(limits.documentsRequestBytesMax, limits.manifestBytesMax, limits.apiBodyBytesMax)
    assert.ok(limits.bufferedBytesPerConnectionMax > 2 * largest)
    assert.ok(limits.bufferedBytesMax > 2 * limits.bufferedBytesPerConnectionMax)
  })
})
