import type { FileContents, FoundPackage } from '../found-package.ts'
import { isObject, parseBoundedJson, textOf } from './bounded-json.ts'

/** Reads `*.deps.json`, which the .NET SDK publishes with a program: `libraries` has keys `Name/version`, projects included. */
export function readDepsJson(content: Buffer): FileContents {
  const document = parseBoundedJson(content)
  const libraries = isObject(document) ? document['libraries'] : undefined
  if (!isObject(libraries)) return { packages: [], problems: ['it has no libraries'] }
  const packages = Object.entries(libraries).flatMap(([key, library]): FoundPackage[] => {
    const [, name, version] = /^([^/]+)\/([^/]+)$/.exec(key) ?? []
    const type = isObject(library) ? textOf(library['type']) : ''
    // `reference` and `referenceassembly` are files beside the program, which belong to no package.
    return name === undefined ||
      version === undefined ||
      !['package', 'project', 'runtimepack'].includes(type)
      ? []
      : [{ type: 'nuget', name: name.replace(/^runtimepack\./, ''), version }]
  })
  return { packages, problems: [] }
}
