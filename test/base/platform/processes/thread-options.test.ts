/** Limits of threads hold on every version of Node.js. */
import { once } from 'node:events'
import { Worker, type WorkerOptions } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { limitHeapGrowth } from '../../../../src/base/platform/memory/heap.js'
import { threadOptions } from '../../../../src/base/platform/processes/thread-options.js'

async function youngLimitOf(t: Test, options: WorkerOptions): Promise<number | undefined> {
  const worker = new Worker('setInterval(() => {}, 1000)', { ...options, eval: true })
  t.teardown(() => worker.terminate())
  await once(worker, 'online')
  return worker.resourceLimits?.maxYoungGenerationSizeMb
}

t.test('the young generation of a thread has 48 MB at most, or what the thread asks for', async (t) => {
  limitHeapGrowth()
  t.equal(await youngLimitOf(t, threadOptions), 48)
  t.equal(await youngLimitOf(t, { ...threadOptions, resourceLimits: { maxYoungGenerationSizeMb: 6 } }), 6)
})
