/**
 * A process in which test files run one after the other: it asks its parent for a file, imports it, and asks again.
 *
 * Each file is one subtest, so that what a file does at its top level (`t.teardown`, `t.beforeEach`, `t.testdir`) ends with
 * the file: the methods of the root that files call are those of the subtest.
 *
 * tap follows every promise with an async hook, to know which subtest an uncaught error belongs to. In files that
 * do much work the hook takes a third of the time. Without it, an error that no test catches ends the process, and
 * the file has failed.
 */
import asyncHooks from 'node:async_hooks'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { pathToFileURL } from 'node:url'

asyncHooks.createHook = () => ({ enable() {}, disable() {} })
syncBuiltinESMExports()
const { default: root } = await import('tap')
const { configureGlobal } = await import('fast-check')
configureGlobal({ numRuns: Number(process.env.PROPERTY_RUNS), seed: Number(process.env.PROPERTY_SEED) })

/** What files call at their top level. */
const METHODS = ['test', 'before', 'beforeEach', 'afterEach', 'teardown', 'equal', 'ok']

const runAll = root.test.bind(root)
let subtest = root
for (const method of METHODS) Object.defineProperty(root, method, { value: (...words) => subtest[method](...words) })
Object.defineProperty(root, 'jobs', {
  set: (jobs) => {
    subtest.jobs = jobs
  },
})

/** Resolves to the next file, null: there is none. */
async function askForFile() {
  const { user, system } = process.cpuUsage()
  process.send({ cpu: (user + system) / 1e6, memory: process.memoryUsage.rss() })
  process.channel.ref()
  const [next] = await once(process, 'message')
  process.channel.unref()
  return next
}

// tap's root ends as soon as it has nothing to do. This test stays open while the parent is asked for the next file.
await runAll('files', { timeout: 0 }, async (files) => {
  for (let next = await askForFile(); next !== null; next = await askForFile()) {
    const { path, name } = next
    process.argv[1] = path
    await files.test(name, { timeout: 0 }, async (file) => {
      subtest = file
      await import(pathToFileURL(path).href)
    })
    // A parser tells of a test point when the next one comes.
    files.pass('the file has ended')
  }
})
process.disconnect?.()
