/**
 * Hostile sessions at the MX listener, while an honest client delivers its mail.
 *
 * One daemon with the default limits. The attackers come from networks of 127.0.0.0/8, so that the limits of one
 * address and of one network do not stop them.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { deliverInbound, idOfReply, inboundText, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { type Dialogue, dial } from '../helpers/smtp/smtp-dialogue.js'
import { waitUntil } from '../helpers/wait-until.js'

const MAX = 1000
const MB = 1_048_576

const app = await testDaemon(t)
const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
if (added.status !== 0) throw new Error(added.err)
const port = app.daemon.mx[0]?.port ?? 0

/** Connected attackers; fifty to an address. */
async function crowd(count: number): Promise<readonly Dialogue[]> {
  // The connections of the last test have left the minute over which their rate is measured.
  app.advance(60_000)
  return Promise.all(
    Array.from({ length: count }, (_, at) => dial(port, { localAddress: `127.1.${1 + Math.floor(at / 50)}.1` })),
  )
}

async function allSay(clients: readonly Dialogue[], line: string): Promise<void> {
  await Promise.all(clients.map((client) => client.sendCommand(line)))
}

function allEnd(clients: readonly Dialogue[]): void {
  for (const client of clients) client.reset()
}

/** Delivers a message as an honest client and waits until it is processed. */
async function expectService(t: Test): Promise<void> {
  const reply = await deliverInbound(t, app, {
    from: 'ann@plain.test',
    to: ['info@home.test'],
    raw: inboundText({ from: 'ann@plain.test' }),
  })
  const email = await waitUntilProcessed(app, idOfReply(reply))
  t.equal(email['status'], 'processed')
}

await waitUntil('the listener knows the domain', async () => {
  const client = await dial(port)
  const replies = [
    await client.readReply(),
    await client.sendCommand('EHLO a.test'),
    await client.sendCommand('MAIL FROM:<>'),
  ]
  replies.push(await client.sendCommand('RCPT TO:<info@home.test>'))
  client.end()
  return replies.at(-1)?.startsWith('250')
})

t.test('a thousand silent connections', async (t) => {
  const idle = await crowd(MAX)
  await Promise.all(idle.map((client) => client.readReply()))
  app.advance(15_000)
  await expectService(t)
  allEnd(idle)
})

t.test('a thousand unfinished TLS handshakes', async (t) => {
  const half = await crowd(MAX)
  await Promise.all(half.map((client) => client.readReply()))
  await allSay(half, 'EHLO half.test')
  await allSay(half, 'STARTTLS')
  // The header of a record of 512 octets, and the first of them.
  await Promise.all(half.map((client) => client.send(Buffer.from([22, 3, 1, 2, 0, 1]))))
  app.advance(15_000)
  await expectService(t)
  allEnd(half)
})

t.test('messages that arrive very slowly', async (t) => {
  const slow = await crowd(500)
  await Promise.all(slow.map((client) => client.readReply()))
  await allSay(slow, 'EHLO slow.test')
  await allSay(slow, 'MAIL FROM:<a@slow.test>')
  await allSay(slow, 'RCPT TO:<info@home.test>')
  await allSay(slow, 'DATA')
  let dripping = true
  const drip = async (): Promise<void> => {
    while (dripping) {
      await Promise.all(slow.map((client) => client.send('x')))
      // Faster, the clients would take the processor of the service that they share it with.
      await sleep(20)
    }
  }
  const dripped = drip()
  await expectService(t)
  dripping = false
  await dripped
  allEnd(slow)
})

t.test('endless garbage in one go', async (t) => {
  const garbage = Buffer.concat(
    Array.from({ length: 2_000 }, () => Buffer.concat([randomBytes(500), Buffer.from('\r\n')])),
  )
  const loud = await crowd(50)
  const sent = Promise.allSettled(loud.map((client) => client.send(garbage)))
  await expectService(t)
  await sent
  // Whether it was greeted or not, each is closed for its faults.
  await Promise.all(loud.map((client) => client.waitForClose()))
})

t.test('lines of 10 MB, as a command and in a message', async (t) => {
  const line = Buffer.alloc(10 * MB, 'x')
  const commands = await crowd(5)
  const messages = await crowd(4) // which get memory at once
  await Promise.all([...commands, ...messages].map((client) => client.readReply()))
  await allSay(messages, 'EHLO long.test')
  await allSay(messages, 'MAIL FROM:<a@long.test>')
  await allSay(messages, 'RCPT TO:<info@home.test>')
  await allSay(messages, 'DATA')
  const sent = Promise.allSettled([...commands, ...messages].map((client) => client.send(line)))
  await expectService(t)
  await sent
  for (const client of messages) t.match(await client.sendCommand('\r\n.'), /^5\d\d 5\.\d\.\d /)
  for (const client of commands) t.match(await client.readReply(), /^421 4\.7\.0 /)
  allEnd([...commands, ...messages])
})

t.test('headers of a megabyte in short lines, and an endless one', async (t) => {
  const to = ['info@home.test']
  const lines = (count: number): string => `X-Lines: a\r\n${' a\r\n'.repeat(count)}`
  const brought = Array.from({ length: 5 }, () =>
    deliverInbound(t, app, { to, raw: `${lines(250_000)}${inboundText()}` }),
  )
  await expectService(t)
  for (const reply of brought) t.match(await waitUntilProcessed(app, idOfReply(await reply)), { subject: /^(hello)?$/ })
  t.match(await deliverInbound(t, app, { to, raw: `${lines(600_000)}${inboundText()}` }), /^550 5\.6\.0 /)
})

t.test('afterwards every slot is free again, and no error was logged', async (t) => {
  const all = await waitUntil('a thousand are greeted', async () => {
    const clients = await crowd(MAX)
    const greetings = await Promise.all(clients.map((client) => client.readReply()))
    if (greetings.every((greeting) => greeting.startsWith('220'))) return clients
    allEnd(clients)
    return null
  })
  t.equal(all.length, MAX)
  allEnd(all)
  t.same(app.errors, [])
})
