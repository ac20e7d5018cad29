/** The program behind scripts/quickstart as a process, with its output. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const program = fileURLToPath(new URL('../../../src/operations/sandbox/main.js', import.meta.url))

/** Its ports, counted from `--port-base`. */
export const sandboxPorts = [25, 26, 443, 465, 587] as const

interface Sandbox {
  /** Everything on standard output so far. */
  readonly said: () => string
  readonly complained: () => string
  /** Resolves to the first line that matches, earlier ones included; rejects when the process ends before. */
  readonly line: (pattern: RegExp) => Promise<string>
  /** Resolves to the exit status, or the signal that killed it. */
  readonly end: (signal?: NodeJS.Signals) => Promise<number | NodeJS.Signals>
}

/** Killed when the test ends. */
export function startSandbox(t: Test, ...options: readonly string[]): Sandbox {
  const child = spawn(process.execPath, [program, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString()
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals)
  return {
    said: () => texts.stdout,
    complained: () => texts.stderr,
    line: async (pattern) => {
      for (;;) {
        const found = texts.stdout.split('\n').find((line) => pattern.test(line))
        if (found !== undefined) return found
        const left = await Promise.race([once(child.stdout, 'data').then(() => null), ended])
        if (left !== null) throw new Error(`ended with ${left} before ${pattern}: ${texts.stderr}`)
      }
    },
    end: (signal) => {
      if (signal !== undefined) child.kill(signal)
      return ended
    },
  }
}
