/**
 * One target in a thread: the thread is ended when an input takes too long or too much memory, the input becomes a
 * finding, and another thread goes on for the rest of the time.
 */
import { Worker } from 'node:worker_threads'

const WORKER = new URL('../../dist/test/helpers/fuzz/fuzz-worker.js', import.meta.url)
/** Milliseconds without a next input, on a machine that may be busy. */
const MAX_SILENCE = 60_000
const MAX_HEAP_MB = 1_024
const MAX_INPUT = 1_048_576
const MAX_RESTARTS = 5

export async function fuzzTarget(target, { seconds, seed, onFinding }) {
  const total = { inputs: 0, seconds: 0, kept: 0, blocks: 0, findings: 0 }
  for (let start = 0; start < MAX_RESTARTS && total.seconds < seconds * 0.9; start += 1) {
    const report = (finding) => {
      total.findings += 1
      onFinding(finding)
    }
    const began = performance.now()
    const result = await runThread(target, { seconds: seconds - total.seconds, seed: seed + start, report })
    total.inputs += result.inputs
    total.seconds += Math.max((performance.now() - began) / 1_000, 0.001)
    total.kept = Math.max(total.kept, result.kept)
    total.blocks = Math.max(total.blocks, result.blocks)
    if (result.over) break
  }
  return total
}

function runThread({ target: { name }, group }, { seconds, seed, report }) {
  const state = new Int32Array(new SharedArrayBuffer(8))
  const bytes = new Uint8Array(new SharedArrayBuffer(MAX_INPUT))
  const inHand = () => Buffer.from(bytes.slice(0, Atomics.load(state, 1)))
  const worker = new Worker(WORKER, {
    workerData: { name, group, seconds, seed, state, bytes },
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  return new Promise((resolve) => {
    let last = { count: -1, at: performance.now() }
    let done = null
    const end = (kind, detail) => {
      clearInterval(watch)
      report({ kind, key: kind, detail, input: inHand() })
      void worker.terminate()
      resolve({ inputs: Atomics.load(state, 0), kept: 0, blocks: 0, over: false })
    }
    const watch = setInterval(() => {
      const count = Atomics.load(state, 0)
      // Loading the target takes its time.
      if (count !== last.count || count === 0) last = { count, at: performance.now() }
      else if (done === null && performance.now() - last.at > MAX_SILENCE) end('hang', `no end after ${MAX_SILENCE} ms`)
    }, 1_000)
    worker.on('message', ({ kind, finding, result }) => {
      if (kind === 'finding') report({ ...finding, input: Buffer.from(finding.input) })
      else done = result
    })
    // Also what is thrown outside of the call, such as in a callback.
    worker.on('error', (error) =>
      end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'fault', error.stack ?? String(error)),
    )
    worker.on('exit', () => {
      clearInterval(watch)
      if (done !== null) resolve({ ...done, over: true })
      else resolve({ inputs: Atomics.load(state, 0), kept: 0, blocks: 0, over: true })
    })
  })
}
