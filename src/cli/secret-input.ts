/**
 * A secret from standard input: one line, never an argument, which other users of the machine
 * could read in its list of processes. At a terminal it is asked for and not shown.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

export async function readSecretLine(
  prompt: string,
  input: NodeJS.ReadStream = process.stdin,
  terminal: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  const asks = input.isTTY === true
  if (asks) terminal.write(prompt)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: nowhere, terminal: asks })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (asks) terminal.write('\n')
  }
}
