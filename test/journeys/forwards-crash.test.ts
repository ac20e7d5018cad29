/** SIGKILL between the 250 of a message and its forwarding: none is lost, and none is queued twice. */
import t from 'tap'
import { Agent, request } from 'undici'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { dial } from '../helpers/smtp/smtp-dialogue.js'
import { configure, createReadyInstallation, runForJson, serve } from './support/program.js'

const ROUNDS = 2
const MESSAGES = 12

t.test('each acknowledged message is forwarded once, whenever the process is killed', async (t) => {
  let holding = true
  const sink = await openSink({ script: { message: () => (holding ? 'hang' : '250 2.0.0 taken') } })
  t.teardown(() => sink.close())
  const at = await createReadyInstallation(t, sink.port, '127.0.0.0/8')
  configure(at, sink.port)
  const home = await runForJson(at, 'domain', 'add', 'home.test', '--inbound', '--force')
  // A domain of the workspace itself: its addresses need not agree.
  await runForJson(at, 'domain', 'add', 'sink.test', '--force')
  let daemon = await serve(t, at)
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  t.teardown(() => agent.destroy())
  const rule = await request(`https://127.0.0.1:${daemon.apiPort}/v1/domains/${home['id']}/forwards`, {
    ...{ dispatcher: agent, method: 'POST' },
    headers: { authorization: `Bearer ${at.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ match: '*', to: ['all@sink.test'], keep: false }),
  })
  t.match(await rule.body.json(), { match: '*', unconfirmed: [] })

  const accepted: string[] = []
  for (let round = 1; round <= ROUNDS; round += 1) {
    holding = true
    const session = await dial(daemon.mxPort)
    await session.readReply()
    await session.sendCommand('EHLO client.test')
    for (let number = 1; number <= MESSAGES; number += 1) {
      const subject = `mail-${round}-${number}-`
      for (const line of ['MAIL FROM:<ann@plain.test>', `RCPT TO:<x${number}@home.test>`, 'DATA'])
        await session.sendCommand(line)
      const raw = `From: ann@plain.test\r\nSubject: ${subject}\r\n\r\ntext\r\n.`
      if ((await session.sendCommand(raw)).startsWith('250')) accepted.push(subject)
    }
    daemon.signal('SIGKILL')
    t.equal(await daemon.ended, 'SIGKILL')
    session.end()
    holding = false
    daemon = await serve(t, at)
    await sink.waitUntil(() => accepted.every((subject) => countOf(subject) > 0))
  }
  t.equal(accepted.length, ROUNDS * MESSAGES)
  t.same(
    accepted.filter((subject) => countOf(subject) !== 1),
    [],
    'each came once',
  )
  t.strictSame(await runForJson(at, 'verify-data'), { ok: true, problems: [] })

  function countOf(subject: string): number {
    return sink.messages.filter(({ raw }) => raw.includes(`Subject: ${subject}\r\n`)).length
  }
})
