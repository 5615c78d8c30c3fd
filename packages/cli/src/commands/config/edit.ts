import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { updateConfigFile } from '../../config/change-file.ts'
import { replaceFile } from '../../config/replace-file.ts'
import { configPath, DEFAULT_PROFILE, readConfigFile } from '../../config/settings.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** Lets somebody edit a copy; it takes the file's place only when it can be read. */
export async function editConfig({ env, flags, output }: AuthInvocation): Promise<void> {
  const path = configPath(env, flags)
  if (!existsSync(path)) updateConfigFile(path, (file) => file.add(DEFAULT_PROFILE))
  const draft = `${path}.edit.yaml`
  if (existsSync(draft)) output.notice(`going on with ${draft}, which was left over`)
  else copyFileSync(path, draft)
  const editor = env['VISUAL'] || env['EDITOR'] || 'nano'
  const { status, error } = openEditor(editor, draft)
  if (error !== undefined || status !== 0) {
    rmSync(draft, { force: true })
    throw new UsageError(`the editor ${editor} failed; the file is as it was`)
  }
  try {
    readConfigFile(draft)
  } catch (problem) {
    throw new UsageError(`${(problem as Error).message}; the file is as it was, your text is in ${draft}`)
  }
  replaceFile(path, readFileSync(draft, 'utf8'))
  rmSync(draft, { force: true })
  output.notice(`wrote ${path}`)
}

/** The editor is a command line of its own: `code --wait`. The name of the file is not part of it, whatever is in it. */
function openEditor(editor: string, file: string) {
  return process.platform === 'win32'
    ? spawnSync(`${editor} "${file}"`, { stdio: 'inherit', shell: true })
    : spawnSync('sh', ['-c', `${editor} "$1"`, 'berth', file], { stdio: 'inherit' })
}
