// What people and their programs do beside sending: sign in to the dashboard, open and click, send broadcasts, make
// exports, read metrics, ask the service zone.
import { createSocket } from 'node:dgram'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, isTemporary, readTracked } from '../lib/https-client.mjs'

const SECONDS = 1_000
const pages = [
  '/v1/emails?limit=20',
  '/v1/inbound?limit=20',
  '/queue',
  '/attention',
  '/v1/domains',
  '/operator/queue',
  '/operator/health',
]

/** Runs `work` again and again until the load ends. */
async function repeat(run, every, work) {
  while (!run.signal.aborted) {
    await work()
    await sleep(every * (0.5 + run.random()))
  }
}

export async function browseDashboard(run, { email, password, workspaceId }) {
  await repeat(run, 4 * SECONDS, async () => {
    const headers = { 'sec-fetch-site': 'same-origin', 'x-workspace-id': workspaceId }
    const client = createClient({ port: run.api.port, headers })
    const signedIn = await client.ask('POST', '/ui/api/session', { email, password })
    if (signedIn?.status === 201) {
      run.ledger.serve('sign-ins')
      const cookie = [signedIn.headers['set-cookie']].flat()[0].split(';')[0]
      for (const page of pages)
        check(run, 'dashboard', 'pages', await client.ask('GET', `/ui/api${page}`, undefined, { cookie }), [200])
      await client.ask('DELETE', '/ui/api/session', undefined, { cookie })
    } else check(run, 'sign-in', 'sign-ins', signedIn, [])
    client.close()
  })
}

/** Faults that may end a request with 500: the file or thread that it needs cannot be opened. */
const shortages = ['few descriptors', 'little memory']
/** A session that began before the clock was a day ahead has ended then. */
const dayAhead = 'clock +1 d'

/** Counts an answer of `statuses`; others, but temporary refusals, are kept. */
function check({ ledger, timeline }, who, kind, answer, statuses) {
  if (answer === null) return false
  if (statuses.includes(answer.status)) ledger.serve(kind)
  else if (answer.status === 500 && shortages.includes(timeline.name())) ledger.serve(`${kind} refused with 500`)
  else if (answer.status === 401 && timeline.name() === dayAhead) ledger.serve(`${kind} refused with 401`)
  else if (!isTemporary(answer.status)) ledger.surprise(who, `${answer.status} ${answer.body}`, timeline.name())
  return statuses.includes(answer.status)
}

/** Loads the pixels and follows the links of messages that have arrived. */
export async function readMessages(run) {
  const reader = { signal: run.signal, port: run.api.port, takeMessage: run.sink.takeMessage }
  await readTracked(reader, (answer, expected, astray) => {
    check(run, 'tracking', expected === 302 ? 'clicks' : 'opens', answer, [expected])
    if (astray !== null) run.ledger.surprise('tracking', astray, run.timeline.name())
  })
}

export async function sendBroadcasts(run, audienceId) {
  const client = createClient({ port: run.api.port, key: run.api.key })
  let number = 0
  await repeat(run, 45 * SECONDS, async () => {
    number += 1
    const draft = {
      ...{
        name: `Number ${number}`,
        audience_id: audienceId,
        from: 'News <app@soak.test>',
        subject: `Broadcast ${number}`,
      },
      html: '<p>Hello {{first_name}}, <a href="https://shop.example/offer?a=1&amp;b=2">an offer</a></p>',
    }
    const made = await client.ask('POST', '/v1/broadcasts', draft)
    if (!check(run, 'broadcasts', 'drafts of broadcasts', made, [201])) return
    const { id } = JSON.parse(made.body)
    const sent = await client.ask('POST', `/v1/broadcasts/${id}/send`, {})
    if (check(run, 'broadcasts', 'broadcasts', sent, [200, 202])) run.ledger.broadcasts.push({ id, number })
  })
  client.close()
}

export async function makeExports(run) {
  const client = createClient({ port: run.api.port, key: run.api.key })
  await repeat(run, 15 * SECONDS, async () => {
    const range = {
      from_date: new Date(Date.now() - 120 * SECONDS).toISOString(),
      to_date: new Date(Date.now() + 86_400 * SECONDS).toISOString(),
    }
    const made = await client.ask('POST', '/v1/exports', { type: 'email_logs', ...range })
    if (check(run, 'exports', 'exports', made, [201, 202]))
      run.ledger.exports.push(JSON.parse(made.body).data.export_id)
    const list = await client.ask('GET', '/v1/exports')
    if (!check(run, 'exports', 'lists of exports', list, [200])) return
    const done = JSON.parse(list.body).data.filter(({ status }) => status === 'completed')
    const oldest = done.at(-1)
    if (oldest !== undefined)
      check(run, 'exports', 'downloads', await client.ask('GET', `/v1/exports/${oldest.export_id}/download`), [200])
    if (done.length > 20)
      await client.ask(
        'DELETE',
        `/v1/exports?export_ids=${done
          .slice(10)
          .map(({ export_id }) => export_id)
          .join(',')}`,
      )
  })
  client.close()
}

export async function readMetrics(run, port) {
  await repeat(run, 5 * SECONDS, async () => {
    const answer = await new Promise((done) => {
      const asked = get({ host: '127.0.0.1', port, path: '/metrics', timeout: 10_000 }, (response) => {
        text(response).then(
          (body) => done({ status: response.statusCode, body }),
          () => done(null),
        )
      })
      asked.on('timeout', () => asked.destroy()).on('error', () => done(null))
    })
    check(run, 'metrics', 'scrapes of metrics', answer, [200])
  })
}

/** The database cannot be read now (RFC 1035 section 4.1.1). */
const SERVFAIL = 2

export async function askZone(run, port) {
  const labels = ['mail', 'soak', 'test'].map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]))
  const question = Buffer.concat([Buffer.of(0, 7, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0), ...labels, Buffer.of(0, 0, 6, 0, 1)])
  const socket = createSocket('udp4')
  socket.on('error', () => undefined)
  socket.on('message', (reply) => {
    const code = reply.readUInt16BE(0) === 7 ? reply.readUInt8(3) & 15 : null
    if (code === 0) run.ledger.serve('answers of the service zone')
    else if (code === SERVFAIL) run.ledger.serve('SERVFAIL of the service zone')
    else run.ledger.surprise('zone', reply.toString('hex'), run.timeline.name())
  })
  await repeat(run, SECONDS, () => socket.send(question, port, '127.0.0.1', () => undefined))
  socket.close()
}
