/** The SMTP client of nullmailer, unpacked beside the machine's packages by scripts/test: it cannot be installed beside Postfix. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ProgramResult } from '../../journeys/support/program.js'
import { temporaryFolder } from '../database/database.js'
import type { RelayTarget } from './postfix.js'
import { runProgram } from './run-program.js'

const program = join(process.cwd(), '.peers/nullmailer/usr/lib/nullmailer/smtp')

export function skipWithoutNullmailer(): false | string {
  return existsSync(program) ? false : 'nullmailer is not unpacked (scripts/test does that)'
}

/** Sends a message as the queue of nullmailer does: the envelope and the message are a file. */
export function sendByNullmailer(
  t: Test,
  { port, key, caFile }: RelayTarget,
  [from, to]: readonly [from: string, to: string],
  message: string,
): Promise<ProgramResult> {
  const file = join(temporaryFolder(t), 'message')
  writeFileSync(file, `${from}\n${to}\n\n${message}`)
  const options = ['host=localhost', `port=${port}`, 'starttls', 'user=app', `pass=${key}`, `x509cafile=${caFile}`]
  return runProgram(['sh', '-c', 'HELOHOST=host.lan exec "$0" 3<"$1"', program, file], `${options.join('\n')}\n\n`)
}
