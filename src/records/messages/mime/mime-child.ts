/**
 * The operating system's process that parses messages: how it is started and why it ended.
 *
 * It is a process and not a thread, because a thread that runs out of memory may end its whole process. It gets nothing
 * of our environment.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { FrameWriter } from '../../../base/platform/processes/byte-frames.js'
import type { ProcessData, UnreadableReason } from './mime-parts-protocol.js'

/** The most characters of the child's standard error that an error message quotes. */
const MAX_STDERR = 2_000

export interface ProcessLimits {
  /** Milliseconds for one message, and additional milliseconds for each megabyte of it. */
  readonly time: number
  readonly timePerMegabyte: number
  /** Megabytes of the heap. */
  readonly memory: number
  /** Megabytes of all memory of the process. */
  readonly resident: number
  /** Milliseconds after which an idle process ends. */
  readonly idle: number
}

export interface MimeChild {
  readonly child: ChildProcess
  readonly stream: Duplex
  readonly frames: FrameWriter
  readonly ready: Promise<void>
  markReady: () => void
  hasStarted: boolean
  stderrTail: string
}

/** Starts the process at once. `ready` resolves when its parent calls `markReady`. */
export function startMimeChild({ memory, resident }: ProcessLimits, analysisModule: URL | null): MimeChild {
  const data: ProcessData = { analysisModule: analysisModule?.href ?? null, resident }
  const program = fileURLToPath(new URL('./mime-parts-worker.js', import.meta.url))
  const options = [`--max-old-space-size=${memory}`, '--max-semi-space-size=4', '--enable-source-maps', '--expose-gc']
  const child = spawn(process.execPath, [...options, program, JSON.stringify(data)], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {},
  })
  // The caller adds another listener. This one serves a process without a pipe, which the caller never gets.
  child.on('error', () => undefined)
  let markReady = (): void => undefined
  const ready = new Promise<void>((resolve) => {
    markReady = resolve
  })
  const [, , , stream] = child.stdio
  if (!(stream instanceof Duplex)) throw new Error('the process has no pipe')
  const running: MimeChild = {
    ...{ child, stream, frames: new FrameWriter(stream), ready, markReady },
    ...{ hasStarted: false, stderrTail: '' },
  }
  child.stderr?.on('data', (chunk: Buffer) => {
    running.stderrTail = `${running.stderrTail}${chunk.toString('latin1')}`.slice(-MAX_STDERR)
  })
  return running
}

/** Lets this process end although the child is running. */
export function unrefMimeChild({ child, stream }: MimeChild): void {
  child.unref()
  for (const each of [stream, child.stderr]) (each as { unref?: () => void } | null)?.unref?.()
}

/**
 * Says why the process ended. V8 aborts when its heap is full. Linux, and the watch thread of the child, kill a process
 * that holds too much memory.
 */
export function exitReasonOf(
  code: number | null,
  signal: NodeJS.Signals | null,
  stderrTail: string,
): [UnreadableReason, string] {
  if (signal === 'SIGABRT' || signal === 'SIGKILL' || signal === 'SIGTRAP' || code === 134) {
    return ['memory', 'out of memory']
  }
  return ['broken', `the process ended with ${signal ?? code}: ${stderrTail}`]
}
