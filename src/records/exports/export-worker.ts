/**
 * The thread of one export: reads the database over a separate connection and writes the file.
 *
 * Its priority is low, so that the mail goes first where processors are scarce. It reports what is on disk and waits
 * until the main thread has stored that. A full disk is an outcome; any other fault ends the thread.
 */
import { constants, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { errorCodeOf } from '../../base/platform/errors.js'
import { openReadConnection } from '../../base/storage/read-connection.js'
import type { ExportJob, ExportReport } from './export-protocol.js'
import { type ExportOutcome, writeExport } from './write-export.js'

async function run(port: MessagePort, job: ExportJob): Promise<void> {
  const { read, close } = openReadConnection(job.database)
  const post = (report: ExportReport): void => port.postMessage(report)
  try {
    const outcome = await writeExport(read, job, async (progress) => {
      post({ kind: 'progress', progress })
      await new Promise((resolve) => port.once('message', resolve))
    }).catch(toOutcome)
    post(outcome)
  } finally {
    close()
  }
}

function toOutcome(error: unknown): ExportOutcome {
  if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCodeOf(error))) return { kind: 'failed', fault: 'disk-full' }
  throw error
}

if (parentPort === null) throw new Error('this file runs as a worker thread')
// On Linux this sets the priority of the calling thread, not of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
const job: ExportJob = workerData
void run(parentPort, job)
