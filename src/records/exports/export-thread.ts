/**
 * Runs one export on a separate thread, which ends with it. Whatever happens to the thread, the daemon continues, and
 * the next export begins with a new thread.
 */
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../../base/platform/processes/thread-options.js'
import type { ExportJob, ExportProgress, ExportReport } from './export-protocol.js'
import type { ExportOutcome } from './write-export.js'

/** A step holds some hundred rows. A thread that needs more memory than this limit is ended. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 }

interface ThreadCallbacks {
  /** Stores what is on disk. Resolves to false if the thread must end here. */
  readonly onProgress: (progress: ExportProgress) => Promise<boolean>
  /** Ends the thread at once. */
  readonly signal: AbortSignal
}

/** Resolves to null if the thread was ended. Rejects with the error that ended it, or with that of `onProgress`. */
export function runExportThread(
  job: ExportJob,
  { onProgress, signal }: ThreadCallbacks,
): Promise<ExportOutcome | null> {
  return new Promise((resolve, reject) => {
    let outcome: ExportOutcome | null = null
    let isEnded = signal.aborted
    if (isEnded) return resolve(null)
    const url = new URL('./export-worker.js', import.meta.url)
    const worker = new Worker(url, { ...threadOptions, resourceLimits, workerData: job })
    const end = (): void => {
      isEnded = true
      void worker.terminate()
    }
    signal.addEventListener('abort', end, { once: true })
    const fail = (error: unknown): void => {
      reject(error)
      end()
    }
    worker.on('message', (report: ExportReport) => {
      if (report.kind !== 'progress') outcome = report
      else onProgress(report.progress).then((goesOn) => (goesOn ? worker.postMessage(null) : end()), fail)
    })
    worker.once('error', reject)
    worker.once('exit', () => {
      signal.removeEventListener('abort', end)
      if (outcome !== null || isEnded) resolve(outcome)
      else reject(new Error('the thread of an export has exited'))
    })
  })
}
