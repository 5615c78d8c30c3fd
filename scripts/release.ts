import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeArtifacts } from './release/artifacts.ts'
import { releaseSection, sectionOf } from './release/changelog.ts'
import { run } from './release/run.ts'
import { currentVersion, isNewer, setVersion } from './release/versions.ts'

const help = `Usage: npm run release -- <x.y.z> [options]

Commits the version and the section of the changelog, and writes the packages, the container images, bills of materials, checksums and
release notes to release/<x.y.z>/. Pushes and publishes nothing.

Options:
  --dry-run     check whether the release is possible, and change nothing
  --no-image    write no container images (they need buildah and root)
  --arch LIST   architectures of the images, separated by commas (default amd64)
  --tag         create the annotated tag v<x.y.z> at the end
  --help        print this help
`

const CHANGELOG = 'CHANGELOG.md'

/** A reason why there is no release, for the user. */
class ReleaseError extends Error {}

try {
  main()
} catch (error) {
  process.stderr.write(`release: ${error instanceof ReleaseError ? error.message : (error as Error).stack}\n`)
  process.exitCode = 1
}

function main(): void {
  const { values, positionals } = readArguments()
  if (values.help) return void process.stdout.write(help)
  const [version = ''] = positionals
  if (positionals.length !== 1 || !/^\d+\.\d+\.\d+$/.test(version))
    throw new ReleaseError(`the version must be one argument of the form x.y.z\n\n${help}`)
  const notes = check(version, values.tag)
  const directory = join('release', version)
  if (values['dry-run']) {
    process.stdout.write(`${version} can be released. ${directory}/RELEASE_NOTES.md would be:\n\n${notes}\n`)
    return
  }
  prepare(version)
  const partial = `${directory}.partial`
  try {
    rmSync(partial, { recursive: true, force: true })
    const imageArchitectures = values['no-image'] ? [] : values.arch.split(',')
    writeArtifacts({ directory: partial, notes, imageArchitectures })
  } catch (error) {
    throw new ReleaseError(
      `${(error as Error).message.trim()}\nThe commit "release: ${version}" exists. Run the command again when the cause is removed, or undo the commit with git reset --hard HEAD~1.`,
    )
  }
  rmSync(directory, { recursive: true, force: true })
  renameSync(partial, directory)
  if (values.tag) run('git', ['tag', '--annotate', `v${version}`, '--message', `Berth ${version}`])
  process.stdout.write(
    `${readFileSync(join(directory, 'SHA256SUMS'), 'utf8')}\n${directory} is complete. docs/releasing.md describes how to publish it.\n`,
  )
}

function readArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        'dry-run': { type: 'boolean', default: false },
        'no-image': { type: 'boolean', default: false },
        arch: { type: 'string', default: 'amd64' },
        tag: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new ReleaseError(`${(error as Error).message}\n\n${help}`)
  }
}

/** Checks that the version can be released, or is committed already. Returns its notes. */
function check(version: string, withTag: boolean): string {
  const changes = run('git', ['status', '--porcelain']).trimEnd()
  if (changes !== '')
    throw new ReleaseError(`the working tree has changes; commit or stash them:\n${changes}`)
  const isCommitted = currentVersion() === version
  if (!isCommitted && !isNewer(version, currentVersion()))
    throw new ReleaseError(`${version} is not newer than ${currentVersion()}`)
  if (withTag && run('git', ['tag', '--list', `v${version}`]).trim() !== '')
    throw new ReleaseError(
      `the tag v${version} exists; delete it with git tag --delete v${version}, or omit --tag`,
    )
  const section = isCommitted ? version : 'Unreleased'
  const notes = sectionOf(readFileSync(CHANGELOG, 'utf8'), section)
  if (notes === undefined || notes === '')
    throw new ReleaseError(`${CHANGELOG} has no text in the section "${section}"; describe what users notice`)
  return notes
}

/** Commits the version and the changelog, unless an earlier run did. */
function prepare(version: string): void {
  if (currentVersion() === version) return
  const today = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length)
  const files = setVersion(version)
  writeFileSync(CHANGELOG, releaseSection(readFileSync(CHANGELOG, 'utf8'), version, today))
  run('git', ['commit', '--quiet', '--message', `release: ${version}`, '--', CHANGELOG, ...files])
}
