import { type FileContents, type FoundPackage, TOO_MANY_PACKAGES } from '../found-package.ts'
import { layerLimits } from '../limits.ts'
import { unixTime } from '../package-times.ts'
import { linesOf } from './control-fields.ts'

/** Reads the database of installed packages of apk-tools (`lib/apk/db/installed`): lines `X:value`, packages separated by empty lines. */
export function readApkInstalled(content: Buffer): FileContents {
  const packages: FoundPackage[] = []
  let unnamed = 0
  let fields: Record<string, string> = {}
  const finish = () => {
    const { P: name, V: version = '', A: architecture, o: origin, L: license, t: built = '' } = fields
    if (name !== undefined)
      packages.push({
        type: 'apk',
        name,
        version,
        architecture,
        origin: origin === undefined ? undefined : { name: origin, version },
        license,
        builtMs: unixTime(built),
        qualifiers: origin === undefined || origin === name ? {} : { upstream: origin },
      })
    else if (Object.keys(fields).length > 0) unnamed++
    fields = {}
  }
  for (const line of linesOf(content.toString())) {
    if (packages.length >= layerLimits.packagesMax) return { packages, problems: [TOO_MANY_PACKAGES] }
    if (line.trim() === '') finish()
    else if (line.startsWith('P:') && fields['P'] !== undefined) {
      // Some databases have no empty line between packages.
      finish()
      fields['P'] = line.slice(2).trim()
    }
    // Lower-case `a` and others repeat for each file; these six occur once.
    else if (/^[PVAoLt]:/.test(line)) fields[line.charAt(0)] ??= line.slice(2).trim()
  }
  finish()
  return {
    packages,
    problems: unnamed === 0 ? [] : [`${unnamed} packages have no name (field P)`],
  }
}
