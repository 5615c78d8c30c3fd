import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { readLayers } from '@berth/image-contents/layers/read-layers.ts'
import { goProgram, withoutGo } from '../support/deploy/go-tools.ts'
import { run } from '../support/images/oci-layout.ts'
import { buildImage, realImages, syftProgram } from '../support/images/real-images.ts'
import { cleanups, temporaryDirectory } from '../support/server/process.ts'

/**
 * The packages that `readLayers` finds in real images, against those of syft, which is `BERTH_TEST_SYFT`, or `goProgram` finds or builds it.
 * `BERTH_TEST_IMAGES` is a folder for the images, which are then built once, and for `comparison.json`.
 */

/** Types of syft, and the types of package URLs. Others are guesses from strings in a file, which no package manager lists. */
const systemTypes: Readonly<Record<string, string>> = { apk: 'apk', deb: 'deb', rpm: 'rpm' }
const languageTypes: Readonly<Record<string, string>> = {
  npm: 'npm',
  python: 'pypi',
  'go-module': 'golang',
  'java-archive': 'maven',
  gem: 'gem',
  'rust-crate': 'cargo',
  'php-composer': 'composer',
  dotnet: 'nuget',
}

interface SyftDocument {
  readonly artifacts: readonly {
    readonly name: string
    readonly version: string
    readonly type: string
    readonly purl: string
    readonly locations: readonly { readonly path: string }[]
  }[]
}

interface Comparison {
  readonly image: string
  readonly kind: 'system' | 'language'
  readonly both: number
  readonly onlyHere: readonly string[]
  readonly onlySyft: readonly string[]
  /** Different package URLs of packages that both have. */
  readonly purls: readonly string[]
}

/** Path of syft. */
let program = process.env['BERTH_TEST_SYFT'] ?? ''

const expectedProblems: Readonly<Record<string, readonly string[]>> = {
  // A template of a Gradle wrapper within it is no zip file.
  'java-tools': [
    'usr/local/lib/python3.11/site-packages/openapi_generator_cli/openapi-generator.jar: an archive in it is damaged: End of central directory record signature not found. Either not a zip file, or file is truncated.',
  ],
}

/** Shares of syft's packages that Berth has to find too, in each image. */
const goals: Readonly<Record<Comparison['kind'], number>> = { system: 0.99, language: 0.95 }

describe('packages of real images, compared with syft', { skip: withoutGo }, () => {
  const cleanup = cleanups()
  const results: Comparison[] = []
  let folder = ''

  before(() => {
    folder = process.env['BERTH_TEST_IMAGES'] ?? temporaryDirectory(cleanup)
    program ||= goProgram(...syftProgram)
  })

  for (const [image, layers] of Object.entries(realImages))
    test(image, async () => {
      const directory = join(folder, image)
      const built = buildImage(directory, layers)
      const { packages, problems } = await readLayers(built)
      assert.deepEqual(
        problems.map(({ path, reason }) => `${path}: ${reason}`),
        expectedProblems[image] ?? [],
      )
      const document = JSON.parse(
        run(program, ['scan', '-q', '-o', 'syft-json', `oci-dir:${join(directory, 'layout')}`], {
          env: { SYFT_CHECK_FOR_APP_UPDATE: 'false' },
        }),
      ) as SyftDocument
      for (const [kind, types] of [['system', systemTypes] as const, ['language', languageTypes] as const]) {
        const here = new Map(
          packages
            .filter(({ type }) => Object.values(types).includes(type))
            .map(({ type, namespace, name, version, purl }) => [
              keyOf(type, nameOf(type, namespace, name), version),
              purl,
            ]),
        )
        const there = new Map(
          document.artifacts
            .filter(({ type }) => type in types)
            .map(({ type, name, version, purl }) => [keyOf(types[type] ?? '', name, version), purl]),
        )
        if (here.size + there.size === 0) continue
        const both = [...there.keys()].filter((key) => here.has(key))
        results.push({
          image,
          kind,
          both: both.length,
          onlyHere: [...here.keys()].filter((key) => !there.has(key)),
          onlySyft: [...there.keys()].filter((key) => !here.has(key)),
          purls: both
            .filter((key) => plainPurl(here.get(key)) !== plainPurl(there.get(key)))
            .map((key) => `${here.get(key)} syft: ${there.get(key)}`),
        })
      }
    })

  test('99 % of the packages of systems and 95 % of those of languages, in each image', (t) => {
    for (const { image, kind, both, onlyHere, onlySyft, purls } of results)
      t.diagnostic(
        `${image}: ${kind} both ${both}, only here ${onlyHere.length}, only syft ${onlySyft.length}, other purl ${purls.length}`,
      )
    if (process.env['BERTH_TEST_IMAGES'] !== undefined)
      writeFileSync(join(folder, 'comparison.json'), JSON.stringify(results, null, 1))
    assert.deepEqual([...new Set(results.map(({ image }) => image))], Object.keys(realImages))
    for (const { image, kind, both, onlySyft } of results)
      assert.ok(
        both / (both + onlySyft.length) >= goals[kind],
        `${image}, ${kind}: ${both} of ${both + onlySyft.length}, without ${onlySyft}`,
      )
  })
})

function keyOf(type: string, name: string, version: string): string {
  const plain = type === 'pypi' ? name.toLowerCase().replaceAll(/[-_.]+/g, '-') : name
  // Syft has a word for no version, and the version of Go with its prefix.
  const plainVersion = version === 'UNKNOWN' ? '' : version.replace(/^(0:|go(?=\d))/, '')
  return `${type} ${plain} ${plainVersion}`
}

/** Syft reads the point release of Debian from `etc/debian_version`, and encodes `+`. */
function plainPurl(purl = ''): string {
  return purl.replaceAll('%2B', '+').replace(/([?&])distro=[^&]*&?/, '$1')
}

/** The name as syft has it: with the namespace where that is part of the name. */
function nameOf(type: string, namespace: string, name: string): string {
  return namespace !== '' && ['npm', 'golang', 'composer'].includes(type) ? `${namespace}/${name}` : name
}
