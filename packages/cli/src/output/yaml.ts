import { createRequire } from 'node:module'

/** Loads the YAML library on first use: most commands do not need it. */
export const loadYaml = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')
