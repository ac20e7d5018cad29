/** Runs an upgrade on a thread, and reports its steps and, while a step takes long, for how long it has. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../../platform/processes/thread-options.js'
import { StorageFault } from '../db/write.js'
import type { UpgradeJob, UpgradeReport, UpgradeStep } from './upgrade-protocol.js'

export interface UpgradeListener {
  readonly onBegin?: (step: UpgradeStep) => void
  readonly onDone?: (step: UpgradeStep, milliseconds: number) => void
  /** Called every ten seconds while a step goes on. */
  readonly onWait?: (step: UpgradeStep, milliseconds: number) => void
}

interface RunOptions extends UpgradeListener {
  /** Ends the thread: an open transaction is undone, and a copy stays as far as it came. */
  readonly signal?: AbortSignal
  readonly interval?: number
}

const REPORT_INTERVAL = 10_000

/** Returns what `verify-data` found, if the job asks for it. Throws a `StorageFault`, or the error of a migration. */
export async function runUpgrade(job: UpgradeJob, options: RunOptions = {}): Promise<readonly string[]> {
  const { onBegin, onDone, onWait, signal, interval = REPORT_INTERVAL } = options
  const worker = new Worker(new URL('./upgrade-worker.js', import.meta.url), {
    ...threadOptions,
    workerData: job,
    // Node.js would close what the thread has opened, and so release the locks of this process (`wal/source-file.ts`).
    trackUnmanagedFds: false,
  })
  let current: { readonly step: UpgradeStep; readonly begun: number } | null = null
  let problems: readonly string[] = []
  let failure: Error | null = null
  worker.on('message', (report: UpgradeReport) => {
    if (report.kind === 'begins') {
      current = { step: report.step, begun: performance.now() }
      onBegin?.(report.step)
    } else if (report.kind === 'done') onDone?.(report.step, report.milliseconds)
    else if (report.kind === 'problems') problems = report.problems
    else failure = report.code === null ? new Error(report.message) : new StorageFault(report.code, report.message)
  })
  const timer = setInterval(() => {
    if (current !== null) onWait?.(current.step, Math.round(performance.now() - current.begun))
  }, interval)
  const abort = (): void => void worker.terminate()
  signal?.addEventListener('abort', abort)
  try {
    // Rejects if the thread ends by an error that it did not report.
    await once(worker, 'exit')
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', abort)
  }
  signal?.throwIfAborted()
  if (failure !== null) throw failure
  return problems
}
