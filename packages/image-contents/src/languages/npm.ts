import type { FileContents } from '../found-package.ts'
import { isObject, parseBoundedJson, textOf } from './bounded-json.ts'

const scopedName = /^(?:(@[^/@\s]+)\/)?([^/@\s]+)$/

/** Reads the `package.json` of an installed package. One without a name or version configures a folder, and is no package. */
export function readPackageJson(content: Buffer): FileContents {
  const document = parseBoundedJson(content)
  if (!isObject(document)) return { packages: [], problems: ['it is no JSON object'] }
  const [, namespace, name] = scopedName.exec(textOf(document['name'])) ?? []
  const version = textOf(document['version'])
  if (name === undefined || version === '') return { packages: [], problems: [] }
  return {
    packages: [
      {
        type: 'npm',
        namespace,
        name,
        version,
        license: licenseOf(document['license'] ?? document['licenses']),
      },
    ],
    problems: [],
  }
}

/** A text, an object with `type`, or a list of either, as older versions of npm had them. */
function licenseOf(value: unknown): string {
  const list = Array.isArray(value) ? value : [value]
  return list
    .map((license) => (isObject(license) ? textOf(license['type']) : textOf(license)))
    .filter((license) => license !== '')
    .join(' OR ')
}
