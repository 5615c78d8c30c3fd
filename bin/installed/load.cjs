// Loads the files that every start of the server runs, with the code that V8 compiled for them in an earlier start. Node's own cache has only what
// V8 compiles while it loads a file, and a fifth of a start would be functions that V8 compiles again (ADR 118).
const { randomBytes } = require('node:crypto')
const diagnosticsChannel = require('node:diagnostics_channel')
const {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} = require('node:fs')
const Module = require('node:module')
const { basename, join } = require('node:path')
const { Script } = require('node:vm')
const { crc32 } = require('node:zlib')

/** As Node's own wrapper of CommonJS modules. */
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) { ', '\n})']
const CHECKSUM_BYTES = 4
const OTHERS_MAY_WRITE = 0o022
const PRIVATE = 0o600

/** Scripts without stored code, by the path where it will be. `replaces`: there is a file that cannot be used. */
const uncached = new Map()

/** Loads a file of this directory, like `require`. */
module.exports = function load(name) {
  const path = join(__dirname, name)
  const known = require.cache[path]
  if (known !== undefined) return known.exports
  const loaded = new Module(path)
  require.cache[path] = loaded
  try {
    const run = compile(path).runInThisContext()
    run.call(loaded.exports, loaded.exports, Module.createRequire(path), loaded, path, __dirname)
  } catch (error) {
    delete require.cache[path]
    throw error
  }
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
    uncached.set(cache, { script, replaces: existsSync(cache) })
  return script
}

/** V8 recognizes another source only by its length, so the name has its checksum. */
function cachePath(path, source) {
  const directory = Module.getCompileCacheDir()
  return directory && join(directory, `${basename(path)}-${crc32(source).toString(16)}.code`)
}

/** V8 trusts the code, so the file must belong to this user, no other user may write it, and it must be complete. */
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

/** Stores the functions that were compiled until now. Without them, starts only take longer, so errors do not matter. */
function store() {
  for (const [path, { script, replaces }] of uncached) {
    // Another process, such as a worker, may have stored the same.
    if (!replaces && existsSync(path)) continue
    const incomplete = `${path}.${randomBytes(8).toString('hex')}`
    try {
      const code = script.createCachedData()
      const checksum = Buffer.alloc(CHECKSUM_BYTES)
      checksum.writeUInt32LE(crc32(code))
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
// The server publishes this (serve-node.ts). What `serve --help` compiles, or a start that fails, is not what starts need.
diagnosticsChannel.subscribe('berth.start', (state) => {
  isReady = true
  if (state === 'idle') store()
})
process.once('exit', () => isReady && store())
