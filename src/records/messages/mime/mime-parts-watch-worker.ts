/**
 * Watches the process that parses messages, from a separate thread, because the process may be in a loop. It kills the
 * process when the parent is gone, and when the process exceeds its memory limit.
 *
 * V8 limits the heap; this limit is for all other memory.
 */
import { workerData } from 'node:worker_threads'

const CHECK_INTERVAL = 100
const MB = 1_048_576

const { parent, resident }: { readonly parent: number; readonly resident: number } = workerData

setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > resident * MB) process.kill(process.pid, 'SIGKILL')
}, CHECK_INTERVAL)
