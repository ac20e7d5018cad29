/**
 * Reads a secret as one line of standard input, never as an argument, which other users of the machine could see in
 * the process list. At a terminal it prompts and does not echo.
 */
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'

export async function readSecretLine(
  prompt: string,
  input: NodeJS.ReadStream = process.stdin,
  terminal: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  const isTerminal = input.isTTY === true
  if (isTerminal) terminal.write(prompt)
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: nowhere, terminal: isTerminal })
  try {
    for await (const line of lines) return line
    return ''
  } finally {
    lines.close()
    if (isTerminal) terminal.write('\n')
  }
}
