// Preloaded into the daemon's main thread: tells its parent, when asked, how long the event loop stood still at most.
const { monitorEventLoopDelay } = require('node:perf_hooks')
const { isMainThread } = require('node:worker_threads')

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('message', () => {
    process.send(delay.max / 1e6)
    delay.reset()
  })
  process.channel.unref()
}
