#!/usr/bin/env node
/** The program: everything is in `cli/`. */
import { pipeline } from 'node:stream/promises'
import { run } from './cli/run.js'
import { secretLine } from './cli/secret-input.js'
import { unfitNode } from './platform/node-version.js'

// Whoever read our output has seen enough, as `head` has: that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const unfit = unfitNode(process.version)
if (unfit !== null) {
  process.stderr.write(`posthorn: ${unfit}\n`)
  process.exit(1)
}

process.exitCode = await run({
  argv: process.argv.slice(2),
  env: process.env,
  print: (text) => process.stdout.write(text),
  printBytes: (bytes) => pipeline(bytes, process.stdout, { end: false }),
  complain: (text) => process.stderr.write(text),
  secret: (prompt) => secretLine(prompt),
})
