import type { FileContents, FoundPackage } from '../found-package.ts'
import { isObject, objectsOf, parseBoundedJson, textOf } from './bounded-json.ts'

/** Reads `vendor/composer/installed.json`: a list of packages (Composer 1), or an object with the list `packages`. */
export function readComposerInstalled(content: Buffer): FileContents {
  const document = parseBoundedJson(content)
  const list = objectsOf(isObject(document) ? document['packages'] : document)
  const packages = list.flatMap((entry): FoundPackage[] => {
    const parts = textOf(entry['name']).split('/')
    const name = parts.pop() ?? ''
    const licenses = Array.isArray(entry['license'])
      ? entry['license'].map(textOf)
      : [textOf(entry['license'])]
    return name === ''
      ? []
      : [
          {
            type: 'composer',
            namespace: parts.join('/'),
            name,
            version: textOf(entry['version']),
            license: licenses.filter((license) => license !== '').join(' OR '),
          },
        ]
  })
  return { packages, problems: [] }
}
