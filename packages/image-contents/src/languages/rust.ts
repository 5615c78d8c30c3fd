import { inflateSync } from 'node:zlib'
import type { FoundPackage } from '../found-package.ts'
import { layerLimits } from '../limits.ts'
import { isObject, objectsOf, parseBoundedJson, textOf } from './bounded-json.ts'
import type { Executable } from './executable.ts'

/** Reads the crates of a Rust program that was built with cargo-auditable: JSON, compressed with zlib, in the section `.dep-v0`. */
export function readRustCrates({ sections }: Executable): FoundPackage[] {
  const section = sections.find(({ name }) => name === '.dep-v0' || name === 'rust-deps-v0')
  if (section === undefined || section.content.length === 0) return []
  const document = parseBoundedJson(unpack(section.content))
  return (
    objectsOf(isObject(document) ? document['packages'] : undefined)
      // Crates of build scripts are not in the program.
      .filter(({ kind }) => kind !== 'build')
      .map((crate) => ({ type: 'cargo', name: textOf(crate['name']), version: textOf(crate['version']) }))
  )
}

function unpack(content: Buffer): Buffer {
  try {
    return inflateSync(content, { maxOutputLength: layerLimits.executableListBytesMax })
  } catch {
    throw new Error('its list of crates cannot be unpacked')
  }
}
