// Preloaded into the daemon's main thread: tells its parent, when asked, how long the event loop stood still at most,
// and the processor time of the longest turn, which does not grow when other programs use the machine.
const { openSync, readSync } = require('node:fs')
const { monitorEventLoopDelay } = require('node:perf_hooks')
const { isMainThread } = require('node:worker_threads')

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  let longest = 0
  let before = 0
  const statistics = openSync('/proc/self/schedstat', 'r')
  const text = Buffer.alloc(64)
  /** Nanoseconds that the main thread ran; the system counts them in steps of some milliseconds. */
  const readTime = () => Number(text.latin1Slice(0, readSync(statistics, text, 0, 64, 0)).split(' ', 1)[0])
  setInterval(() => {
    const now = readTime()
    longest = Math.max(longest, now - before)
    before = now
  }, 1).unref()
  process.on('message', () => {
    process.send({ wall: delay.max / 1e6, processor: longest / 1e6 })
    delay.reset()
    longest = 0
  })
  process.channel.unref()
}
