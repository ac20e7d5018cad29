/** Programs of other projects: run to their end, and skipped by name where they are missing. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type ProgramResult, waitForExit } from '../../journeys/support/program.js'

/** Debian's own Python: no other one sees its packages. */
export const python = '/usr/bin/python3'

export function runProgram(words: readonly string[], input: Buffer | string = ''): Promise<ProgramResult> {
  const [name = '', ...rest] = words
  const child = spawn(name, rest, { env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` } })
  // A client that was refused stops reading.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return waitForExit(child)
}

/** For tests that need more than a program: `probe` succeeds where it is available. */
export function skipWithoutModule([name = '', ...rest]: readonly string[], packageName: string): false | string {
  return spawnSync(name, rest).status === 0 ? false : `${packageName} is not installed`
}

/** Cyrus SASL loads its mechanisms from a folder of the machine's architecture. */
export function skipWithoutSasl(): false | string {
  const found = readdirSync('/usr/lib').some((folder) => existsSync(join('/usr/lib', folder, 'sasl2', 'libplain.so')))
  return found ? false : 'libsasl2-modules is not installed'
}
