import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { updateConfigFile } from '../../config/change-file.ts'
import { replaceFile } from '../../config/replace-file.ts'
import { configPath, DEFAULT_PROFILE, readConfigFile } from '../../config/settings.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** Opens a copy of the configuration file in an editor, and replaces the file if the copy is valid. */
export async function editConfig({ env, flags, output }: AuthInvocation): Promise<void> {
  const path = configPath(env, flags)
  if (!existsSync(path)) updateConfigFile(path, (file) => file.add(DEFAULT_PROFILE))
  const draft = `${path}.edit.yaml`
  if (existsSync(draft)) output.notice(`continuing with ${draft} of an earlier edit`)
  else copyFileSync(path, draft)
  const editor = env['VISUAL'] || env['EDITOR'] || 'nano'
  const { status, error } = openEditor(editor, draft)
  if (error !== undefined || status !== 0) {
    rmSync(draft, { force: true })
    throw new UsageError(`the editor ${editor} failed; the configuration file is unchanged`)
  }
  try {
    readConfigFile(draft)
  } catch (problem) {
    throw new UsageError(
      `${(problem as Error).message}; the configuration file is unchanged, your edit is in ${draft}`,
    )
  }
  replaceFile(path, readFileSync(draft, 'utf8'))
  rmSync(draft, { force: true })
  output.notice(`wrote ${path}`)
}

/** The editor may be a command line such as `code --wait`. The file name is passed as an argument, so that the shell does not parse it. */
function openEditor(editor: string, file: string) {
  return process.platform === 'win32'
    ? spawnSync(`${editor} "${file}"`, { stdio: 'inherit', shell: true })
    : spawnSync('sh', ['-c', `${editor} "$1"`, 'berth', file], { stdio: 'inherit' })
}
