/** The thread that reads what takes long, started by `read-threads`. */
import { memoryAloneOf, serveJobs } from '../platform/processes/job-thread.js'
import { isRecord } from '../platform/records.js'
import type { ReadHere } from './open.js'
import { openReadConnection } from './read-connection.js'
import type { ReadJob } from './read-threads.js'

let connected: { readonly file: string; readonly read: ReadHere } | null = null

serveJobs<ReadJob, unknown[]>(({ file, sql, parameters }) => {
  if (connected?.file !== file) connected = { file, read: openReadConnection(file).read }
  const result = connected.read<unknown>(sql, parameters)
  return { result, transfer: result.flatMap(memoriesOf) }
})

function memoriesOf(row: unknown): readonly ArrayBuffer[] {
  const values = isRecord(row) ? Object.values(row) : []
  return values.flatMap((value) => (value instanceof Uint8Array ? (memoryAloneOf(value) ?? []) : []))
}
