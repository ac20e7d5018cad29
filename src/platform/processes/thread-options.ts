/**
 * What our threads inherit of the arguments of Node.js: all of them, but nothing where
 * modules are loaded before the program. Those of a test runner would be loaded into every
 * thread again, and take longer than all that the thread does.
 */
import type { WorkerOptions } from 'node:worker_threads'

export const threadOptions: WorkerOptions = process.execArgv.some((word) => /^--(?:import|require|loader)\b/.test(word))
  ? { execArgv: [] }
  : {}
