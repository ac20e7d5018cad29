/**
 * Watches the process that takes messages apart from a thread of its own, because the process may be in a loop: it
 * is killed when its parent is gone, and when it exceeds its memory limit.
 *
 * V8 limits the heap; this limit is for everything outside of it.
 */
import { workerData } from 'node:worker_threads'

const CHECK_INTERVAL = 100
const MB = 1_048_576

const { parent, resident }: { readonly parent: number; readonly resident: number } = workerData

setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > resident * MB) process.kill(process.pid, 'SIGKILL')
}, CHECK_INTERVAL)
