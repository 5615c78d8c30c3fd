import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, renameSync, rmSync } from 'node:fs'
import { UsageError } from '../client/invocation.ts'
import type { AuthInvocation } from '../client/run.ts'
import { configPath, readConfigFile, writeConfigFile } from '../client/settings.ts'

/** Lets somebody edit a copy; it takes the file's place only when it can be read. */
export async function editConfig({ env, flags, output }: AuthInvocation): Promise<void> {
  const path = configPath(env, flags)
  if (!existsSync(path)) writeConfigFile(path, { profile: 'default', profiles: { default: {} } })
  const draft = `${path}.edit.yaml`
  if (existsSync(draft)) output.done(`going on with ${draft}, which was left over`)
  else copyFileSync(path, draft)
  const editor = env['VISUAL'] || env['EDITOR'] || 'nano'
  const { status, error } = spawnSync(editor, [draft], { stdio: 'inherit', shell: true })
  if (error !== undefined || status !== 0) {
    rmSync(draft, { force: true })
    throw new UsageError(`the editor ${editor} failed; the file is as it was`)
  }
  try {
    readConfigFile(draft)
  } catch (problem) {
    throw new UsageError(`${(problem as Error).message}; the file is as it was, your text is in ${draft}`)
  }
  renameSync(draft, path)
  output.done(`wrote ${path}`)
}
