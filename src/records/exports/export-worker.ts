/**
 * The thread of one export: reads the database over a separate connection and makes the file.
 *
 * Its priority is low, so that the mail goes first where processors are scarce. It hands over each piece and waits until
 * the main thread has stored that. A fault ends the thread.
 */
import { constants, setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openThreadReader } from '../../base/storage/threads/thread-reader.js'
import type { ExportJob, ExportReport } from './export-protocol.js'
import { writeExport } from './write-export.js'

async function run(port: MessagePort, job: ExportJob): Promise<void> {
  const { read, close } = openThreadReader(job.database)
  const post = (report: ExportReport): void => port.postMessage(report)
  post({ kind: 'open' })
  try {
    const end = await writeExport(read, job, async (piece) => {
      post(piece)
      await new Promise((resolve) => port.once('message', resolve))
    })
    post(end)
  } finally {
    await close()
  }
}

if (parentPort === null) throw new Error('this file runs as a worker thread')
// On Linux this sets the priority of the calling thread, not of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
const job: ExportJob = workerData
void run(parentPort, job)
