// Loads the files that every start of the server runs, with the code that V8 compiled for them in an earlier start. Node's own cache has only what
// V8 compiles while it loads a file, and half of a start would be functions that V8 compiles again (ADR 118).
const diagnosticsChannel = require('node:diagnostics_channel')
const { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs')
const Module = require('node:module')
const { basename, join } = require('node:path')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** As Node's own wrapper of CommonJS modules. */
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) { ', '\n})']
const CHECKSUM_BYTES = 4
const OTHERS_MAY_WRITE = 0o022
const PRIVATE = 0o600

/** Scripts by the paths of their caches, which do not exist yet. */
const uncached = new Map()

/** As `require` of a file beside this one. */
module.exports = function load(name) {
  const path = join(__dirname, name)
  const known = require.cache[path]
  if (known !== undefined) return known.exports
  const loaded = new Module(path)
  require.cache[path] = loaded
  const run = compile(path).runInThisContext()
  run.call(loaded.exports, loaded.exports, Module.createRequire(path), loaded, path, __dirname)
  loaded.loaded = true
  return loaded.exports
}

function compile(path) {
  const source = readFileSync(path)
  const cache = cachePath(path, source)
  const cachedData = cache && readCache(cache)
  const script = new Script(WRAPPER.join(source.toString()), {
    filename: path,
    columnOffset: -WRAPPER[0].length,
    cachedData,
  })
  if (cache !== undefined && (cachedData === undefined || script.cachedDataRejected))
    uncached.set(cache, script)
  return script
}

/** V8 recognizes another source only by its length, so the name has its checksum. */
function cachePath(path, source) {
  const directory = Module.getCompileCacheDir()
  return directory && join(directory, `${basename(path)}-${crc32(source).toString(16)}.code`)
}

/** V8 trusts its cache, so nobody else may have written it, and it must be complete. */
function readCache(path) {
  let file
  try {
    file = openSync(path)
    const { uid, mode } = fstatSync(file)
    if (uid !== (process.getuid?.() ?? uid) || (mode & OTHERS_MAY_WRITE) !== 0) return undefined
    const content = readFileSync(file)
    const code = content.subarray(CHECKSUM_BYTES)
    return content.readUInt32LE() === crc32(code) ? code : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Stores the functions that were compiled until now. Without a cache, starts only take longer, so errors do not matter. */
function store() {
  for (const [path, script] of uncached) {
    const code = script.createCachedData()
    const checksum = Buffer.alloc(CHECKSUM_BYTES)
    checksum.writeUInt32LE(crc32(code))
    const incomplete = `${path}.${process.pid}`
    try {
      // `wx` fails for a link that somebody else put there.
      writeFileSync(incomplete, Buffer.concat([checksum, code]), { mode: PRIVATE, flag: 'wx' })
      renameSync(incomplete, path)
    } catch {
      try {
        rmSync(incomplete, { force: true })
      } catch {}
    }
  }
  uncached.clear()
}

let isReady = false
// runtime/start-memory.ts publishes this. What `serve --help` compiles, or a start that fails, is not what starts need.
diagnosticsChannel.subscribe('berth.start', (state) => {
  isReady = true
  if (state === 'idle') store()
})
process.once('exit', () => isReady && store())
