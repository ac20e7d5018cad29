/**
 * Sessions at the MX listener that no honest client has, while an honest one brings its mail.
 *
 * One daemon with the limits that it is shipped with. The attackers come from networks of
 * 127.0.0.0/8, so that the limits of one address and of one network do not stop them.
 */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { bring, idOfReply, letter, processed } from '../helpers/bring-mail.js'
import { type Dialogue, dial } from '../helpers/smtp-dialogue.js'
import { testDaemon } from '../helpers/test-daemon.js'
import { until } from '../helpers/until.js'

const MAX = 1000
const MB = 1_048_576

const app = await testDaemon(t)
const added = await app.cli('domain', 'add', 'home.test', '--inbound', '--force', '--workspace', app.workspaceId)
if (added.status !== 0) throw new Error(added.err)
const port = app.daemon.mx[0]?.port ?? 0

/** Attackers that are connected; fifty to an address. */
async function crowd(count: number): Promise<readonly Dialogue[]> {
  // What they did in the last test is out of the minute by which their pace is measured.
  app.advance(60_000)
  return Promise.all(
    Array.from({ length: count }, (_, at) => dial(port, { localAddress: `127.1.${1 + Math.floor(at / 50)}.1` })),
  )
}

async function allSay(clients: readonly Dialogue[], line: string): Promise<void> {
  await Promise.all(clients.map((client) => client.say(line)))
}

function allEnd(clients: readonly Dialogue[]): void {
  for (const client of clients) client.reset()
}

/** An honest client's message is taken and looked at. */
async function served(t: Test): Promise<void> {
  const reply = await bring(t, app, {
    from: 'ann@plain.test',
    to: ['info@home.test'],
    raw: letter({ from: 'ann@plain.test' }),
  })
  const email = await processed(app, idOfReply(reply))
  t.equal(email['status'], 'processed')
}

await until('the door knows the domain', async () => {
  const client = await dial(port)
  const replies = [await client.reply(), await client.say('EHLO a.test'), await client.say('MAIL FROM:<>')]
  replies.push(await client.say('RCPT TO:<info@home.test>'))
  client.end()
  return replies.at(-1)?.startsWith('250')
})

t.test('a thousand connections that say nothing', async (t) => {
  const idle = await crowd(MAX)
  await Promise.all(idle.map((client) => client.reply()))
  app.advance(15_000)
  await served(t)
  allEnd(idle)
})

t.test('a thousand handshakes of TLS that never end', async (t) => {
  const half = await crowd(MAX)
  await Promise.all(half.map((client) => client.reply()))
  await allSay(half, 'EHLO half.test')
  await allSay(half, 'STARTTLS')
  // The head of a record of 512 octets, and the first of them.
  await Promise.all(half.map((client) => client.send(Buffer.from([22, 3, 1, 2, 0, 1]))))
  app.advance(15_000)
  await served(t)
  allEnd(half)
})

t.test('messages that come in drop by drop', async (t) => {
  const slow = await crowd(500)
  await Promise.all(slow.map((client) => client.reply()))
  await allSay(slow, 'EHLO slow.test')
  await allSay(slow, 'MAIL FROM:<a@slow.test>')
  await allSay(slow, 'RCPT TO:<info@home.test>')
  await allSay(slow, 'DATA')
  let dripping = true
  const drip = async (): Promise<void> => {
    while (dripping) {
      await Promise.all(slow.map((client) => client.send('x')))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const dripped = drip()
  await served(t)
  dripping = false
  await dripped
  allEnd(slow)
})

t.test('garbage without end, in one go', async (t) => {
  const garbage = Buffer.concat(
    Array.from({ length: 2_000 }, () => Buffer.concat([randomBytes(500), Buffer.from('\r\n')])),
  )
  const loud = await crowd(50)
  const sent = Promise.allSettled(loud.map((client) => client.send(garbage)))
  await served(t)
  await sent
  // Greeted or not, each is sent away for its faults.
  await Promise.all(loud.map((client) => client.closed()))
})

t.test('lines of 10 MB, as a command and in a message', async (t) => {
  const line = Buffer.alloc(10 * MB, 'x')
  const commands = await crowd(5)
  const messages = await crowd(4) // which have memory at once
  await Promise.all([...commands, ...messages].map((client) => client.reply()))
  await allSay(messages, 'EHLO long.test')
  await allSay(messages, 'MAIL FROM:<a@long.test>')
  await allSay(messages, 'RCPT TO:<info@home.test>')
  await allSay(messages, 'DATA')
  const sent = Promise.allSettled([...commands, ...messages].map((client) => client.send(line)))
  await served(t)
  await sent
  for (const client of messages) t.match(await client.say('\r\n.'), /^5\d\d 5\.\d\.\d /)
  for (const client of commands) t.match(await client.reply(), /^421 4\.7\.0 /)
  allEnd([...commands, ...messages])
})

t.test('headers of a megabyte in short lines, and one that is endless', async (t) => {
  const to = ['info@home.test']
  const lines = (count: number): string => `X-Lines: a\r\n${' a\r\n'.repeat(count)}`
  const brought = Array.from({ length: 5 }, () => bring(t, app, { to, raw: `${lines(250_000)}${letter()}` }))
  await served(t)
  for (const reply of brought) t.match(await processed(app, idOfReply(await reply)), { subject: /^(hello)?$/ })
  t.match(await bring(t, app, { to, raw: `${lines(600_000)}${letter()}` }), /^550 5\.6\.0 /)
})

t.test('afterwards every place is free again, and nothing was reported', async (t) => {
  const all = await until('a thousand are greeted', async () => {
    const clients = await crowd(MAX)
    const greetings = await Promise.all(clients.map((client) => client.reply()))
    if (greetings.every((greeting) => greeting.startsWith('220'))) return clients
    allEnd(clients)
    return null
  })
  t.equal(all.length, MAX)
  allEnd(all)
  t.same(app.errors, [])
})
