import type { FileContents, FoundPackage } from '../found-package.ts'
import { isObject, type JsonObject, parseBoundedJson, textOf } from './bounded-json.ts'

/** Parts of a library in `targets` that name files beside the program. Others, such as `compile`, are for building only. */
const deployed = ['runtime', 'native', 'resources', 'runtimeTargets']

/**
 * Reads `*.deps.json`, which the .NET SDK publishes with a program: `libraries` has keys `Name/version`, projects included. Packages of which
 * the program has no file, such as analyzers, are left out.
 */
export function readDepsJson(content: Buffer): FileContents {
  const document = parseBoundedJson(content)
  const libraries = isObject(document) ? document['libraries'] : undefined
  if (!isObject(libraries)) return { packages: [], problems: ['it has no libraries'] }
  // Of each library in `targets`, whether any of them has files of it.
  const isDeployed = new Map<string, boolean>()
  for (const target of Object.values(objectIn(document, 'targets')))
    for (const [key, entry] of isObject(target) ? Object.entries(target) : [])
      if (isDeployed.get(key) !== true) isDeployed.set(key, hasFiles(entry))
  const packages = Object.entries(libraries).flatMap(([key, library]): FoundPackage[] => {
    const [, name, version] = /^([^/]+)\/([^/]+)$/.exec(key) ?? []
    const type = isObject(library) ? textOf(library['type']) : ''
    // `reference` and `referenceassembly` are files beside the program, which belong to no package.
    return name === undefined ||
      version === undefined ||
      !['package', 'project', 'runtimepack'].includes(type) ||
      isDeployed.get(key) === false
      ? []
      : [{ type: 'nuget', name: name.replace(/^runtimepack\./, ''), version }]
  })
  return { packages, problems: [] }
}

function hasFiles(entry: unknown): boolean {
  return deployed.some((part) => Object.keys(objectIn(entry, part)).length > 0)
}

function objectIn(value: unknown, name: string): JsonObject {
  const member = isObject(value) ? value[name] : undefined
  return isObject(member) ? member : {}
}
