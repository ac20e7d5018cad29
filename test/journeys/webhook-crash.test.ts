/** Events reach their endpoint although the daemon is killed again and again while it sends them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Agent, request } from 'undici'
import { databaseFile } from '../../src/base/storage/open.js'
import { openTestDatabase } from '../helpers/database/database.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import { configure, createReadyInstallation, serve } from './support/program.js'
import { emailIdOf, openSession, submit } from './support/submit.js'

const KILLS = 3
const MESSAGES = 30
const TYPES = ['email.queued', 'email.delivered']

t.test('SIGKILL while events are sent: each acknowledged one arrives, and is recorded once', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const receiver = await webhookReceiver(t)
  const prepared = await createReadyInstallation(t, sink.port, '127.0.0.0/8')
  const trusted = `[[submission.trusted]]\nnetwork = "127.0.0.0/8"\nworkspace = "${prepared.workspace}"`
  configure(prepared, sink.port, `${trusted}\n[webhooks]\nallowed_private_networks = ["127.0.0.0/8"]`)
  let daemon = await serve(t, prepared)
  const ca = readFileSync(join(prepared.dataDir, 'tls', 'cert.pem'))
  const agent = new Agent({ connect: { ca, servername: 'localhost' } })
  t.teardown(() => agent.destroy())
  const subscribed = await request(`https://127.0.0.1:${daemon.apiPort}/v1/webhooks`, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${prepared.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url, events: TYPES }),
  })
  t.equal(subscribed.statusCode, 201)
  const acknowledged: string[] = []
  for (let kills = 0; kills < KILLS; kills += 1) {
    const { port } = daemon
    const before = receiver.requests.length
    const client = async (which: number): Promise<void> => {
      const session = await openSession(port)
      for (let number = 0; number < MESSAGES / 3; number += 1) {
        acknowledged.push(emailIdOf(await submit(session, `${kills}-${which}-${number}@sink.test`)))
      }
    }
    await Promise.all([0, 1, 2].map(client))
    await waitUntil('some events', () => receiver.requests.length > before + kills * 5)
    daemon.signal('SIGKILL')
    t.equal(await daemon.ended, 'SIGKILL')
    daemon = await serve(t, prepared)
  }
  const { read } = await openTestDatabase(t, { file: databaseFile(prepared.dataDir) })
  const sql = `select id from events where type in (${TYPES.map((type) => `'${type}'`).join()})`
  const rows = 'select event_id as id, status from webhook_deliveries'
  await waitUntil(
    'every event is delivered',
    async () => {
      const events = await read<{ id: string }>(sql, [])
      const stored = (await read<{ id: string; status: string }>(rows, [])).filter(
        ({ status }) => status === 'delivered',
      )
      return events.length >= acknowledged.length * 2 && stored.length === events.length
    },
    60_000,
  )
  const received = new Set(receiver.events().map(({ id }) => id))
  t.same([...received].toSorted(), (await read<{ id: string }>(sql, [])).map(({ id }) => id).toSorted())
  t.equal(new Set((await read<{ id: string }>(rows, [])).map(({ id }) => id)).size, received.size, 'one row for each')
  const emails = new Set(receiver.events().map(({ data }) => data['email_id']))
  t.same(
    acknowledged.filter((id) => !emails.has(id)),
    [],
  )
  t.ok(receiver.requests.length < received.size + KILLS * 60, 'what was under way is repeated, and no more')
})
