/**
 * Watches the process that takes messages apart from a thread of its own, because the process itself
 * may be in a loop: it is killed when its parent is gone, and when it holds more memory than it may.
 *
 * A heap has a limit by V8; this one is for all that lies outside of it.
 */
import { workerData } from 'node:worker_threads'

const CHECK_INTERVAL = 100
const MB = 1_048_576

const { parent, resident }: { readonly parent: number; readonly resident: number } = workerData

setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > resident * MB) process.kill(process.pid, 'SIGKILL')
}, CHECK_INTERVAL)
