import { readParagraphs } from '../databases/control-fields.ts'
import type { FileContents } from '../found-package.ts'

const fields = new Set(['name', 'version', 'license', 'license-expression'])

/** Reads the core metadata of an installed distribution: `METADATA`, `PKG-INFO`, or a file `*.egg-info`. */
export function readPythonMetadata(content: Buffer): FileContents {
  // Only the headers: the body is the description.
  const [headers] = readParagraphs(content.toString(), fields)
  const [name, version] = [headers?.get('name') ?? '', headers?.get('version') ?? '']
  if (name === '' || version === '')
    return { packages: [], problems: name === version ? [] : ['it has no name or no version'] }
  const license = headers?.get('license-expression') ?? headers?.get('license')?.split('\n', 1)[0] ?? ''
  return {
    packages: [{ type: 'pypi', name, version, license: license === 'UNKNOWN' ? '' : license }],
    problems: [],
  }
}
