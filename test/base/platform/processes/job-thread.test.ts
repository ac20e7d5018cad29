/** The thread for jobs: their order, their faults, and its end. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { JobThread } from '../../../../src/base/platform/processes/job-thread.js'

const moduleUrl = new URL('../../../../src/base/platform/processes/job-thread.js', import.meta.url).href

type Job = { readonly say: string } | { readonly fail: string } | { readonly exit: true }

const code = `
import { serveJobs } from ${JSON.stringify(moduleUrl)}
serveJobs((job) => {
  if (job.exit) process.exit(1)
  if (job.fail) throw new Error(job.fail)
  return { result: job.say, transfer: [] }
})`
const file = new URL(`data:text/javascript,${encodeURIComponent(code)}`)

t.test('jobs are done in their order, and a fault is that of its job alone', async (t) => {
  const thread = new JobThread<Job, string>(file)
  t.teardown(() => thread.stop())
  const jobs: readonly Job[] = [{ say: 'a' }, { fail: 'b' }, { say: 'c' }]
  const done = await Promise.allSettled(jobs.map((job) => thread.run(job)))
  t.match(done, [{ value: 'a' }, { reason: { message: 'b' } }, { value: 'c' }])
})

t.test('a thread that ends rejects its job, and the next job starts another', async (t) => {
  const thread = new JobThread<Job, string>(file)
  t.teardown(() => thread.stop())
  const done = await Promise.allSettled([thread.run({ exit: true }), thread.run({ say: 'a' })])
  t.match(done, [{ reason: /a job was not done/ }, { value: 'a' }])
})

t.test('memory is transferred, and what cannot be sent is refused', async (t) => {
  const thread = new JobThread<{ readonly say: unknown }, unknown>(file)
  t.teardown(() => thread.stop())
  const bytes = new Uint8Array(100_000)
  t.equal(((await thread.run({ say: bytes }, [bytes.buffer])) as Uint8Array).length, 100_000)
  t.equal(bytes.length, 0)
  await t.rejects(thread.run({ say: () => undefined }), /cannot be given to a thread/)
})

t.test('so many jobs of one owner may wait, and others are not concerned', async (t) => {
  const bound = { maxOfOwner: 2, buildRefusal: () => new Error('too many wait') }
  const thread = new JobThread<Job, string>(file, { bound })
  t.teardown(() => thread.stop())
  const owners = ['a', 'a', 'a', 'a', 'b', null, null, null]
  const done = await Promise.allSettled(owners.map((owner, at) => thread.run({ say: String(at) }, [], owner)))
  t.match(
    done.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
    ['0', '1', '2', 'Error: too many wait', '4', '5', '6', '7'],
  )
  t.equal(await thread.run({ say: 'again' }, [], 'a'), 'again')
})

t.test('the owners of jobs take turns', async (t) => {
  const thread = new JobThread<Job, string>(file)
  t.teardown(() => thread.stop())
  const done: string[] = []
  const jobs = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map(async (say) => {
    done.push(await thread.run({ say }, [], say.slice(0, 1)))
  })
  await Promise.all(jobs)
  t.same(done, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2'], 'the first is under way when the others come')
})

t.test('after the stop no job is done', async (t) => {
  const thread = new JobThread<Job, string>(file)
  const late = t.rejects(thread.run({ say: 'a' }), /not done|stopped/)
  await thread.stop()
  await late
  await t.rejects(thread.run({ say: 'b' }), /stopped/)
})

t.test('a process goes on until its thread has stopped, also if an answer comes meanwhile', async (t) => {
  const program = `
const { JobThread } = await import(${JSON.stringify(moduleUrl)})
const thread = new JobThread(new URL(${JSON.stringify(file.href)}))
await thread.run({ say: 'a' })
thread.run({ say: 'b' }).catch(() => undefined)
// The answer waits at the port when the thread is stopped.
const until = Date.now() + 200
while (Date.now() < until) continue
await thread.stop()
console.log('stopped')`
  const ended = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  t.equal(ended.stdout, 'stopped\n')
})

t.test('a job that takes longer than its limit is rejected, and the next job starts another thread', async (t) => {
  const busy = `
import { serveJobs } from ${JSON.stringify(moduleUrl)}
serveJobs((job) => {
  while (job.busy) continue
  return { result: job.say, transfer: [] }
})`
  const file = new URL(`data:text/javascript,${encodeURIComponent(busy)}`)
  const thread = new JobThread<{ readonly busy: boolean; readonly say: string }, string>(file, { timeLimit: 300 })
  t.teardown(() => thread.stop())
  await t.rejects(thread.run({ busy: true, say: 'a' }), { name: 'JobTimedOut' })
  t.equal(await thread.run({ busy: false, say: 'b' }), 'b')
})
