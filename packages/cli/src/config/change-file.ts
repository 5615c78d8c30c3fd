import { existsSync, readFileSync } from 'node:fs'
import { type Document, isMap, parseDocument } from 'yaml'
import { replaceFile } from './replace-file.ts'
import { DEFAULT_PROFILE, readConfigFile } from './settings.ts'

/** Edits the configuration file and preserves the rest of it, including comments. */
export interface ConfigEditor {
  use(profile: string): void
  set(profile: string, property: string, value: string): void
  unset(profile: string, property: string): void
  /** Adds an empty profile. */
  add(profile: string): void
  remove(profile: string): void
}

/** Changes the file. Throws a UsageError without changing it if it is invalid. */
export function updateConfigFile(path: string, change: (file: ConfigEditor) => void): void {
  readConfigFile(path)
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const document = parseDocument(text.trim() === '' ? `profile: ${DEFAULT_PROFILE}\n` : text)
  change(createEditor(document))
  replaceFile(path, document.toString())
}

function createEditor(document: Document): ConfigEditor {
  const mapAt = (...path: string[]) => {
    if (!isMap(document.getIn(path, true))) document.setIn(path, document.createNode({}))
  }
  const add = (profile: string) => {
    mapAt('profiles')
    mapAt('profiles', profile)
  }
  return {
    use: (profile) => document.setIn(['profile'], profile),
    add,
    set(profile, property, value) {
      add(profile)
      const own = document.getIn(['profiles', profile], true)
      // An empty profile, {}, becomes a block.
      if (isMap(own) && own.items.length === 0) own.flow = false
      document.setIn(['profiles', profile, property], value)
    },
    unset(profile, property) {
      if (document.hasIn(['profiles', profile, property])) document.deleteIn(['profiles', profile, property])
    },
    remove(profile) {
      if (document.hasIn(['profiles', profile])) document.deleteIn(['profiles', profile])
    },
  }
}
