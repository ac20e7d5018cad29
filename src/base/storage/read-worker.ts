/** The thread that reads large rows, started by `read-thread`. */
import { memoryAloneOf, serveJobs } from '../platform/processes/job-thread.js'
import { isRecord } from '../platform/records.js'
import { openReadConnection } from './read-connection.js'
import type { ReadJob } from './read-thread.js'

serveJobs<ReadJob, unknown[]>(({ file, sql, parameters }) => {
  const { read, close } = openReadConnection(file)
  try {
    const result = read<unknown>(sql, parameters)
    return { result, transfer: result.flatMap(memoriesOf) }
  } finally {
    close()
  }
})

function memoriesOf(row: unknown): readonly ArrayBuffer[] {
  const values = isRecord(row) ? Object.values(row) : []
  return values.flatMap((value) => (value instanceof Uint8Array ? (memoryAloneOf(value) ?? []) : []))
}
