#!/usr/bin/env node
// The package berth starts here: `berth serve` loads the files of the server, other commands those of the command line (ADR 117).
const oldestMajor = 24
const isOld = Number(process.versions.node.split('.')[0]) < oldestMajor
// A supervisor of workers needs less than a server, and an old Node only starts a newer one.
const isAlone = [undefined, '', '1'].includes(process.env.BERTH_WORKERS)
require(process.argv[2] === 'serve' && isAlone && !isOld ? '../lib/serve/program.cjs' : '../lib/program.cjs')
