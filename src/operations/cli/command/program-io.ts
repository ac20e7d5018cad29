/** Defines the streams that the program reads and writes, and prints an answer. With `--json` it is one JSON value. */
import { rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Answer } from './command.js'
import { escapeControls, maskControls } from './mask-controls.js'
import type { CommandLine } from './parse-line.js'
import type { Terminal } from './screen.js'

export interface ProgramIo {
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly print: (text: string) => void
  /** Resolves when everything is written. */
  readonly printBytes: (bytes: Readable) => Promise<void>
  readonly printError: (text: string) => void
  /** Reads a line without echo. */
  readonly readSecret: (prompt: string) => Promise<string>
  /** Standard input. It is not read before this is called. */
  readonly openInput: () => AsyncIterable<Buffer>
  /** The rest of this process runs after all others that want the processor. This cannot be undone. */
  readonly lowerPriority: () => void
  /** If it is absent, standard input and output are no terminal. */
  readonly terminal?: Terminal | undefined
}

export async function printAnswer(io: ProgramIo, line: CommandLine, answer: Answer): Promise<number> {
  const bytes = await openBytes(answer)
  if (bytes === null) return printText(io, line, answer)
  await io.printBytes(bytes)
  return 0
}

/** Null if the answer is text. */
async function openBytes({ bytes, file }: Answer): Promise<Readable | null> {
  if (bytes !== undefined) return Readable.from(bytes)
  if (file === undefined) return null
  const opened = (await open(file)).createReadStream()
  // The open file stays readable, and nothing is left if the process is killed.
  rmSync(file)
  return opened
}

/** Control characters are masked. */
export function formatLines(lines: readonly string[]): string {
  return lines.map((line) => `${maskControls(line)}\n`).join('')
}

/** Prints the answer and returns the exit status. */
export function printText(
  { print, printError }: ProgramIo,
  { options }: CommandLine,
  { json, lines, failed, status, warnings = [] }: Answer,
): number {
  for (const warning of warnings) printError(`posthorn: ${maskControls(warning)}\n`)
  print(options['json'] === true ? `${escapeControls(JSON.stringify(json))}\n` : formatLines(lines))
  return status ?? (failed === true ? 1 : 0)
}
