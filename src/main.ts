#!/usr/bin/env node
/** The program: everything is in `cli/`. */
import { run } from './cli/run.js'

process.exitCode = await run({
  argv: process.argv.slice(2),
  env: process.env,
  print: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
})
