#!/usr/bin/env node
// What runs first in the package berth: the files of a server, or those of the other commands (ADR 117).
const oldestMajor = 24
const isOld = Number(process.versions.node.split('.')[0]) < oldestMajor
// A supervisor of workers needs less than a server, and an old Node only starts a newer one.
const isServer = process.argv[2] === 'serve' && process.env.BERTH_WORKERS === undefined && !isOld
require(isServer ? '../lib/serve/program.cjs' : '../lib/program.cjs')
