import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLayers } from '@berth/image-contents/layers/read-layers.ts'
import { hostileSboms } from '../support/contents/hostile-sboms.ts'
import { hostileText } from '../support/contents/hostile-text.ts'
import { hostileLayer, hostileLayers, VALID_PACKAGE } from '../support/images/hostile-layers.ts'
import { layerOfBytes } from '../support/images/layers.ts'

/** Layers that no build tool writes. Each ends in recorded problems, within bounded time and memory, and what could be read is kept. */

test('the tables of layers and SBOMs have at least 150 cases, with names of their own', () => {
  assert.ok(hostileLayers.length + hostileText.length + hostileSboms.length >= 150)
  assert.equal(new Set(hostileLayers.map(({ name }) => name)).size, hostileLayers.length)
})

for (const one of hostileLayers)
  test(one.name, async () => {
    const { limits, problem, losesValid = false } = one
    const { packages, problems } = await readLayers([layerOfBytes(hostileLayer(one))], {
      ...(limits !== undefined && { limits }),
    })
    const reasons = problems.map(({ reason }) => reason)
    if (problem === undefined) assert.deepEqual(reasons, [])
    else
      assert.ok(
        reasons.some((reason) => problem.test(reason)),
        `problems: ${reasons.slice(0, 5).join('; ')}`,
      )
    for (const { path, reason } of problems) {
      assert.ok(path.length <= 512 && reason.length <= 512)
      assert.doesNotMatch(path + reason, /\p{Cc}/u)
    }
    assert.equal(
      packages.some(({ purl }) => purl === VALID_PACKAGE),
      !losesValid,
    )
  })
