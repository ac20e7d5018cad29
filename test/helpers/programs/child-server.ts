/** A server of another project as a child process; it ends with the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

export interface ChildServer {
  readonly signal: (name: NodeJS.Signals) => void
  /** Resolves when it has ended. */
  readonly ended: Promise<unknown>
  /** Resolves to the first line of its output that has `words`, counted from line `since`. */
  readonly waitForLine: (words: string, since?: number) => Promise<string>
  /** The number of lines of its output. */
  readonly lines: () => number
  /** The lines so far that have `words`. */
  readonly listLines: (words: string) => readonly string[]
}

/** Resolves when a line of its output has the words `ready`. */
export async function childServer(t: Test, words: readonly string[], ready: string): Promise<ChildServer> {
  const [program = '', ...rest] = words
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').then(() => null)
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  const readers = [child.stdout, child.stderr].map((input) => createInterface({ input }))
  for (const reader of readers) reader.setMaxListeners(0).on('line', (line) => lines.push(line))
  const waitForLine = async (part: string, since = 0): Promise<string> => {
    for (;;) {
      const found = lines.slice(since).find((line) => line.includes(part))
      if (found !== undefined) return found
      const looking = new AbortController()
      const { signal } = looking
      const next = await Promise.race([...readers.map((reader) => once(reader, 'line', { signal })), ended])
      looking.abort()
      if (next === null) throw new Error(`${program} ended: ${lines.join('\n')}`)
    }
  }
  await waitForLine(ready)
  return {
    signal: (name) => void child.kill(name),
    ended,
    waitForLine,
    lines: () => lines.length,
    listLines: (part) => lines.filter((line) => line.includes(part)),
  }
}
