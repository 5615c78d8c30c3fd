import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everyCapability } from '@berth/contract/capabilities.ts'
import { create, type DescMethod } from '@bufbuild/protobuf'
import type { Grants } from '../pipeline/authorization.ts'
import { accessRuleOf } from '../pipeline/authorize.ts'
import type { InvokeMethod } from '../pipeline/call.ts'
import type { Store } from '../storage/store.ts'
import { registryTranslation } from './registry/registry.ts'
import { v1Translations } from './services.ts'

const grants: Grants = {
  capabilitiesByScope: new Map(),
  readableScopes: [],
  at: () => everyCapability,
  grantableAt: () => everyCapability,
  isHeldAnywhere: () => true,
  scopesHolding: () => [''],
  voucher: { kind: 'direct' },
  hasUserAuthority: true,
}

test('R28: a scoped method of version 1 requires what the newer method that it calls requires, so its own rule decides on the headers', async () => {
  const store = {} as Store
  let compared = 0
  for (const { service, translators } of [...v1Translations(store), registryTranslation(store)]) {
    for (const method of service.methods) {
      const translate = translators[method.localName]
      const rule = accessRuleOf(method)
      if (translate === undefined || rule.kind !== 'scoped') continue
      const asked: DescMethod[] = []
      const ask = (async (newer: DescMethod) => {
        asked.push(newer)
        throw new Error('enough')
      }) as unknown as InvokeMethod
      await assert.rejects(async () => translate(create(method.input), ask, { grants }), /enough/)
      const [first] = asked
      const newer = accessRuleOf(first!)
      assert.equal(newer.kind, 'scoped', `${method}`)
      assert.equal(newer.kind === 'scoped' && newer.capabilities, rule.capabilities, `${method} and ${first}`)
      compared++
    }
  }
  assert.ok(compared > 20)
})
