#!/usr/bin/env node
/** The program: everything is in `cli/`. */
import { constants, setPriority } from 'node:os'
import { pipeline } from 'node:stream/promises'
import { checkNodeVersion } from './base/platform/node-version.js'
import { readSecretLine } from './operations/cli/command/secret-input.js'
import { run } from './operations/cli/run.js'

// The reader of our output has closed it, as `head` does: not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const versionProblem = checkNodeVersion(process.version)
if (versionProblem !== null) {
  process.stderr.write(`posthorn: ${versionProblem}\n`)
  process.exit(1)
}

process.exitCode = await run({
  argv: process.argv.slice(2),
  env: process.env,
  print: (text) => process.stdout.write(text),
  printBytes: (bytes) => pipeline(bytes, process.stdout, { end: false }),
  printError: (text) => process.stderr.write(text),
  readSecret: (prompt) => readSecretLine(prompt),
  openInput: () => process.stdin,
  lowerPriority: () => setPriority(constants.priority.PRIORITY_LOW),
  terminal: process.stdin.isTTY && process.stdout.isTTY ? { input: process.stdin, output: process.stdout } : undefined,
})
