/** The queue under load: fairness, and each message arrives once. */
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { bulkEmail } from '../helpers/database/bulk.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const count = async (app: TestDaemon, sql: string): Promise<number> =>
  (await app.rows<{ n: number }>(`select count(*) as n from ${sql}`))[0]?.n ?? -1

/** The test's own commit of thousands of emails may take PostgreSQL longer than the daemon lets others wait. */
const faultsOf = ({ errors }: TestDaemon): readonly string[] =>
  errors.filter((line) => !/has not answered a commit|the database takes writes again/.test(line))

t.test('thousands of messages of one workspace do not delay others', async (t) => {
  const slow = await openSink({ script: { rcpt: ({ line }) => (line.includes('<many') ? 'hang' : '250 2.1.5 ok') } })
  const quick = await openSink()
  t.teardown(() => Promise.all([slow.close(), quick.close()]))
  const app = await testDaemon(t, { routes: { 'slow.test': slow, 'quick.test': quick } })
  const many = Array.from({ length: 3000 }, (_, n) =>
    bulkEmail({ workspaceId: app.workspaceId, to: `many${n}@slow.test`, at: app.now() }),
  )
  await app.daemon.database.commit(many.flatMap(({ writes }) => writes))
  await slow.waitUntil(() => slow.commands.filter((line) => line.startsWith('RCPT')).length >= 9)

  const own = await app.submitAccepted({ to: ['own@quick.test'] })
  t.equal((await app.waitUntilSettled(own)).status, 'delivered', 'its own mail to another host')
  const from = { from: 'app@other.test', key: app.otherKey }
  const elsewhere = await app.submitAccepted({ ...from, to: ['one@quick.test'] })
  t.equal((await app.waitUntilSettled(elsewhere)).status, 'delivered', "another's mail to another host")
  const same = await app.submitAccepted({ ...from, to: ['one@slow.test'] })
  t.equal((await app.waitUntilSettled(same)).status, 'delivered', "another's mail to the same host")
  t.equal(await count(app, 'queue'), 3000, 'while all of them still wait')
  t.equal(slow.mostOpen, 10, 'the host gets as many sessions as it may, nine of them for one workspace')
  t.ok((await count(app, 'queue where leased = 1')) <= 20)
  t.same(faultsOf(app), [])
})

t.test('five thousand messages behind one host, more than memory holds, arrive once each', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'c.test': sink } })
  const total = 5000
  const many = Array.from({ length: total }, (_, n) =>
    bulkEmail({
      workspaceId: n % 5 === 0 ? app.otherWorkspaceId : app.workspaceId,
      from: n % 5 === 0 ? 'app@other.test' : 'app@a.test',
      to: `r${n}@${n % 2 === 0 ? 'b' : 'c'}.test`,
      at: app.now(),
      priority: n % 7 === 0 ? 'low' : 'normal',
    }),
  )
  await app.daemon.database.commit(many.flatMap(({ writes }) => writes))
  await waitUntil('an empty queue', async () => (await count(app, 'queue')) === 0, 90_000)
  const arrived = sink.messages.map(({ rcptTo }) => rcptTo[0])
  t.equal(arrived.length, total)
  t.equal(new Set(arrived).size, total)
  t.equal(await count(app, `emails where status = 'delivered'`), total)
  t.equal(await count(app, 'attempts'), total)
  t.equal(await count(app, `events where type = 'email.delivered'`), total)
  t.same(faultsOf(app), [])
})
