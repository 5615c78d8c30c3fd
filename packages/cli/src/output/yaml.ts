import { createRequire } from 'node:module'

/** The library for YAML, loaded when there is some: most commands run without. */
export const loadYaml = () => createRequire(import.meta.url)('yaml') as typeof import('yaml')
