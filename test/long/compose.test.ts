import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { goModule, withoutGo } from '../support/deploy/go-tools.ts'

test('the compose file follows the Compose Specification', { skip: withoutGo }, (t) => {
  const specification = goModule(t, 'github.com/compose-spec/compose-go/v2@v2.9.0')
  // Its name of the dialect is not the one that draft 7 has.
  const { $schema: _, ...schema } = JSON.parse(
    readFileSync(join(specification, 'schema/compose-spec.json'), 'utf8'),
  )
  const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true }).compile(schema)
  const compose = parse(readFileSync('deploy/compose/compose.yaml', 'utf8'))
  validate(compose)
  assert.deepEqual(validate.errors, null)
  compose.services.berth.helthcheck = {}
  assert.equal(validate(compose), false)
})
