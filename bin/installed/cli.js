#!/usr/bin/env node
// The program of the package @berth/cli.
import { runProgram } from '@berth/cli/program.ts'

await runProgram(process.argv)
