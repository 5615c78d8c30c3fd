import type { Plugin } from 'rolldown'

/** Functions of protobuf-es that create descriptors when modules are loaded, by their modules. */
const creators = { boot: 'boot', file: 'fileDesc', message: 'messageDesc', enum: 'enumDesc' } as const
const modules = /\/@bufbuild\/protobuf\/dist\/esm\/codegenv2\/(boot|file|message|enum)\.js$/

const LAZILY = `
const lazy = Symbol.for('berth.lazy')
function lazily(create) {
  let value
  return new Proxy({}, {
    get: (_, name) => name === lazy || (value ??= create())[name],
    has: (_, name) => name in (value ??= create()),
  })
}`

/**
 * Creates the descriptors of the files that come with protobuf-es when they are first used. Few programs use them: the schema has its own copies of
 * all but `descriptor.proto` (gen/google/protobuf). At a start, protobuf-es would decode these files with a reader that it has to create
 * first, in 7 % of the time.
 */
export function lazyDescriptors(): Plugin {
  const replaced = new Set<string>()
  return {
    name: 'lazy-descriptors',
    transform(code, id) {
      const module = modules.exec(id)?.[1] as keyof typeof creators | undefined
      if (module === undefined) return
      const name = creators[module]
      const isLazy = module === 'boot' || module === 'file' ? 'true' : 'args[0][lazy] === true'
      const start = `export function ${name}(`
      if (!code.includes(start)) throw new Error(`${id} has no function ${name}`)
      replaced.add(module)
      return `${code.replace(start, `function create_${name}(`)}${LAZILY}
export function ${name}(...args) {
  return ${isLazy} ? lazily(() => create_${name}(...args)) : create_${name}(...args)
}`
    },
    buildEnd() {
      if (replaced.size < Object.keys(creators).length)
        throw new Error('not all functions of protobuf-es were found that create descriptors')
    },
  }
}
