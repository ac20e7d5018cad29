/** Starts `child.js` and reads its lines. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

type Mode = 'write' | 'once' | 'open' | 'retry' | 'lock'

interface Child {
  readonly lines: readonly string[]
  /** Resolves when it has printed so many lines. */
  readonly waitForLines: (count: number) => Promise<void>
  readonly kill: () => Promise<void>
  readonly ended: Promise<unknown>
}

interface ChildOptions extends SpawnOptions {
  /** A program to run it under, with its arguments. */
  readonly under?: readonly string[]
  /** It is going to fail: its standard error is not shown. */
  readonly quiet?: boolean
}

export function startChild(
  t: Test,
  file: string,
  mode: Mode,
  { under = [], quiet = false, ...options }: ChildOptions = {},
): Child {
  const script = fileURLToPath(new URL('./child.js', import.meta.url))
  const [command = '', ...rest] = [...under, process.execPath, script, file, mode]
  const child: ChildProcess = spawn(command, rest, {
    ...options,
    // A process group of its own, so that the program around it ends with it.
    detached: true,
    stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
  })
  const ended = once(child, 'close')
  const kill = async (): Promise<void> => {
    const running = child.exitCode === null && child.signalCode === null
    if (running && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended
  }
  t.teardown(kill)
  return { ...listen(child, ended), kill, ended }
}

function listen(child: ChildProcess, ended: Promise<unknown>): Pick<Child, 'lines' | 'waitForLines'> {
  const lines: string[] = []
  const reader = child.stdout === null ? undefined : createInterface(child.stdout)
  reader?.on('line', (line) => lines.push(line))
  const waitForLines = async (count: number): Promise<void> => {
    while (lines.length < count && reader !== undefined) {
      const more = await Promise.race([once(reader, 'line'), ended.then(() => undefined)])
      if (more === undefined && lines.length < count) throw new Error(`it ended after ${lines.length} lines`)
    }
  }
  return { lines, waitForLines }
}
