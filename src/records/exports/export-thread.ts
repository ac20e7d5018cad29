/** Runs the thread of one export: `export-worker.ts`. */
import { Worker } from 'node:worker_threads'
import { threadOptions } from '../../base/platform/processes/thread-options.js'
import type { EndReport, ExportJob, ExportReport, PieceReport } from './export-protocol.js'

/** A step holds some hundred rows. A thread that needs more memory than this limit is ended. */
const resourceLimits = { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 8 }

interface ThreadCallbacks {
  /** Stores the piece. Resolves to false if the thread must end here. */
  readonly onPiece: (piece: PieceReport) => Promise<boolean>
  /** Ends the thread at once. */
  readonly signal: AbortSignal
}

/**
 * Runs one export on a separate thread, which ends with it. Whatever happens to the thread, the daemon continues, and
 * the next export begins with a new thread. Resolves to null if the thread was ended. Rejects with the error that ended
 * it, or with that of `onPiece`. No piece is being stored any more then.
 */
export function runExportThread(job: ExportJob, { onPiece, signal }: ThreadCallbacks): Promise<EndReport | null> {
  return new Promise((resolve, reject) => {
    let last: EndReport | null = null
    let failure: unknown = null
    let storing: Promise<void> = Promise.resolve()
    let isEnded = signal.aborted
    if (isEnded) return resolve(null)
    let isOpen = false
    const url = new URL('./export-worker.js', import.meta.url)
    const worker = new Worker(url, { ...threadOptions, resourceLimits, workerData: job })
    const end = (): void => {
      isEnded = true
      // A thread that is terminated while it loads a native module may end the whole process.
      if (isOpen) void worker.terminate()
    }
    signal.addEventListener('abort', end, { once: true })
    const fail = (error: unknown): void => {
      failure ??= error
      end()
    }
    worker.on('message', (report: ExportReport) => {
      isOpen = true
      if (isEnded) end()
      else if (report.kind === 'end') last = report
      else if (report.kind === 'piece')
        storing = onPiece(report).then((goesOn) => (goesOn ? worker.postMessage(null) : end()), fail)
    })
    worker.once('error', (error) => {
      failure ??= error
    })
    worker.once('exit', () => {
      signal.removeEventListener('abort', end)
      void storing.then(() => {
        if (failure === null && !isEnded && last === null) failure = new Error('the thread of an export has exited')
        if (failure === null) resolve(last)
        else reject(failure)
      })
    })
  })
}
