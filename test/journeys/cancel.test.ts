/** Rescheduling and cancelling an email over REST, also at the moment of its release. */
import t from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const hour = 3_600_000

const sink = await openSink()
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })

const iso = (at: number): string => new Date(at).toISOString()

function schedule(on: TestDaemon, ahead: number, to: readonly string[] = ['bob@b.test']): Promise<string> {
  return on.submitAccepted({ to, fields: [`X-Service-Scheduled-For: ${iso(on.now() + ahead)}`] })
}

/** Number of messages that arrived for addresses with this prefix. */
const countArrived = (start: string): number =>
  sink.messages.filter(({ rcptTo }) => rcptTo[0]?.startsWith(`<${start}`)).length

t.test('a scheduled email is moved and sent at its new time', async (t) => {
  const id = await schedule(app, hour, ['moved@b.test'])
  const at = iso(app.now() + 3 * hour)
  const answer = await app.rest('PATCH', `/v1/emails/${id}`, { body: { scheduled_for: at } })
  t.equal(answer.status, 200)
  t.match(answer.json(), {
    id,
    status: 'scheduled',
    scheduled_for: at,
    text: 'a line',
    recipients: [{ next_attempt_at: at }],
  })
  app.advance(2 * hour)
  t.equal((await app.waitUntilSettled(await app.submitAccepted())).status, 'delivered')
  t.match(await app.findStory(id), { status: 'scheduled' }, 'its old time has passed')
  const sooner = iso(app.now() + hour / 2)
  t.equal((await app.rest('PATCH', `/v1/emails/${id}`, { body: { scheduled_for: sooner } })).status, 200)
  app.advance(hour / 2)
  t.match(await app.waitUntilSettled(id), { status: 'delivered', scheduled_for: sooner })
  t.equal(countArrived('moved@'), 1)
  const late = await app.rest('PATCH', `/v1/emails/${id}`, { body: { scheduled_for: at } })
  t.match(late.json(), { error: { code: 'conflict', status: 409, details: { id, status: 'delivered' } } })
})

t.test('an email that is moved to the past is sent now', async (t) => {
  const id = await schedule(app, hour, ['now@b.test'])
  const past = iso(app.now() - hour)
  const answer = await app.rest('PATCH', `/v1/emails/${id}`, { body: { scheduled_for: past } })
  t.equal(answer.status, 200)
  t.match(answer.json(), { id, scheduled_for: null })
  t.match(await app.waitUntilSettled(id), { status: 'delivered' })
  t.equal(countArrived('now@'), 1)
})

t.test('a cancelled email is never sent, also after a restart', async (t) => {
  const first = await testDaemon(t, { routes: { 'b.test': sink } })
  const id = await schedule(first, hour, ['never@b.test', 'never-2@b.test'])
  const answer = await first.rest('POST', `/v1/emails/${id}/cancel`)
  t.equal(answer.status, 200)
  const cancelled = { status: 'cancelled', next_attempt_at: null }
  t.match(answer.json(), { id, status: 'cancelled', recipients: [cancelled, cancelled] })
  t.match((await first.rest('POST', `/v1/emails/${id}/cancel`)).json(), { error: { code: 'conflict', status: 409 } })
  t.match((await first.rest('GET', '/v1/emails?page=1&status=cancelled')).json(), {
    data: [{ id }],
    meta: { total: 1 },
  })
  await first.stop()
  const again = await testDaemon(t, { routes: { 'b.test': sink }, folder: first.folder, ahead: 2 * hour })
  t.equal((await again.waitUntilSettled(await again.submitAccepted())).status, 'delivered')
  t.equal(countArrived('never'), 0)
  t.equal((await again.findStory(id)).status, 'cancelled')
  t.same([...first.errors, ...again.errors], [])
})

const ROUNDS = 4
const EMAILS = 40

t.test('at the moment of its release an email is either changed or sent, never both, never neither', async (t) => {
  const counts = { cancelled: 0, moved: 0, sent: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    const ids = await Promise.all(
      Array.from({ length: EMAILS }, (_, n) =>
        schedule(app, hour, [`one-${round}-${n}@b.test`, `two-${round}-${n}@b.test`]),
      ),
    )
    const starter = await schedule(app, hour)
    app.advance(hour - 1000)
    const later = iso(app.now() + 24 * hour)
    app.advance(1000)
    // It wakes the queue, and the others are due with it.
    const woken = app.rest('PATCH', `/v1/emails/${starter}`, { body: { scheduled_for: iso(0) } })
    const acts = ids.map(async (id, n) => {
      const cancel = n % 2 === 0
      const answer = cancel
        ? await app.rest('POST', `/v1/emails/${id}/cancel`)
        : await app.rest('PATCH', `/v1/emails/${id}`, { body: { scheduled_for: later } })
      return { id, n, cancel, status: answer.status }
    })
    const outcomes = await Promise.all(acts)
    await woken
    for (const { id, n, cancel, status } of outcomes) {
      const story = await waitUntil(`${id} has its end`, async () => {
        const found = await app.findStory(id)
        return found.status !== 'queued' && found
      })
      const got = ['one', 'two'].map((name) => countArrived(`${name}-${round}-${n}@`))
      const expected = status === 409 ? 'delivered' : cancel ? 'cancelled' : 'scheduled'
      t.same([story.status, got], [expected, status === 409 ? [1, 1] : [0, 0]], `answered ${status}`)
      counts[expected === 'delivered' ? 'sent' : cancel ? 'cancelled' : 'moved'] += 1
    }
  }
  t.comment(JSON.stringify(counts))
  app.advance(25 * hour)
  const left = async (): Promise<number> => (await app.rows('select 1 from queue')).length
  await waitUntil('what was moved has gone', async () => (await left()) === 0)
  t.equal(
    countArrived('one') + countArrived('two'),
    2 * (counts.sent + counts.moved),
    'all that was not cancelled, once',
  )
  t.same(app.errors, [])
})
