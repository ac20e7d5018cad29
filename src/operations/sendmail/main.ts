#!/usr/bin/env node
/** The program that is called as /usr/sbin/sendmail. It opens no database and loads few modules. */
import { systemClock } from '../../base/platform/clock.js'
import { exitCodes, SendmailFault } from './exit-codes.js'
import { sendmail } from './sendmail.js'

/** The server refuses more by default. */
const MAX_INPUT = 100 * 1_048_576

async function readStandardInput(): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    const piece: Buffer = chunk
    bytes += piece.length
    if (bytes > MAX_INPUT) throw new SendmailFault(exitCodes.dataError, `the message has more than ${MAX_INPUT} bytes`)
    chunks.push(piece)
  }
  return Buffer.concat(chunks)
}

process.exitCode = await sendmail({
  argv: process.argv.slice(2),
  env: process.env,
  readInput: readStandardInput,
  print: (text) => process.stdout.write(text),
  printError: (text) => process.stderr.write(text),
  clock: systemClock,
})
