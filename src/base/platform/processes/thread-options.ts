/**
 * Options that our threads share.
 *
 * They inherit all arguments of Node.js, or none if one of them preloads modules: each thread would load the modules of a test
 * runner again, which takes longer than the thread's own work.
 *
 * A young generation has at most a quarter of what Node.js 24 gives it, 192 MB: the process held 638 MB with inbound mail, and
 * 486 with this limit, at the same speed (docs/performance.md).
 */
import type { WorkerOptions } from 'node:worker_threads'

const preloads = process.execArgv.some((word) => /^--(?:import|require|loader)\b/.test(word))

export const threadOptions: WorkerOptions = {
  resourceLimits: { maxYoungGenerationSizeMb: 48 },
  ...(preloads ? { execArgv: [] } : {}),
}
