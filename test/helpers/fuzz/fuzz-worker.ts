/** The thread that fuzzes one target. Its parent sees the input in hand in shared memory, and ends the thread if it hangs. */
import { parentPort, workerData } from 'node:worker_threads'
import { Fuzzer } from './fuzzer.js'
import { loadTarget } from './targets/all-targets.js'

interface WorkerInput {
  readonly name: string
  readonly group: number
  readonly seconds: number
  readonly seed: number
  /** The number of inputs and the length of the one in hand. */
  readonly state: Int32Array
  readonly bytes: Uint8Array
}

const { name, group, seconds, seed, state, bytes } = workerData as WorkerInput
const target = await loadTarget(group, name)
await target.open?.()
const fuzzer = new Fuzzer(target, {
  seconds,
  seed,
  onInput: (input) => {
    bytes.set(input.subarray(0, bytes.length))
    Atomics.store(state, 1, Math.min(input.length, bytes.length))
    Atomics.add(state, 0, 1)
  },
  onFinding: (finding) => parentPort?.postMessage({ kind: 'finding', finding }),
})
const result = await fuzzer.run()
parentPort?.postMessage({ kind: 'result', result })
await target.close?.()
process.exit()
