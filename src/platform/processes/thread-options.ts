/**
 * The arguments of Node.js that our threads inherit: all of them, or none if one of them preloads modules. Each
 * thread would load the modules of a test runner again, which takes longer than the thread's own work.
 */
import type { WorkerOptions } from 'node:worker_threads'

export const threadOptions: WorkerOptions = process.execArgv.some((word) => /^--(?:import|require|loader)\b/.test(word))
  ? { execArgv: [] }
  : {}
