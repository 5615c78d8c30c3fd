import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../config/limits.ts'
import { ApiError, Code } from './errors.ts'
import { parseFormFields } from './form-fields.ts'

test('R28: a form with too many fields is rejected, including empty ones (formFieldsMax)', () => {
  const most = Array.from({ length: limits.formFieldsMax }, (_, at) => `a${at}=b`).join('&')
  assert.equal(parseFormFields(most).size, limits.formFieldsMax)
  for (const text of [`${most}&c`, `${most}&`, '&'.repeat(60_000)])
    assert.throws(() => parseFormFields(text), { code: Code.INVALID_ARGUMENT })
})

test('R28: a form with a field that is too long is rejected (formFieldCharsMax)', () => {
  const longest = 'x'.repeat(limits.formFieldCharsMax)
  assert.equal(parseFormFields(`a=${longest}`).get('a'), longest)
  assert.throws(() => parseFormFields(`a=${longest}x`), ApiError)
})
