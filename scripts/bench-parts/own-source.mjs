// Sends messages as fast as they are accepted, in a process of its own; resends the first ones when all were sent.
//
//     node own-source.mjs LETTERS.json PORT SESSIONS MESSAGES [kept|new]
//
// `new`: a connection for each message. Pipelines as far as RFC 2920 allows: MAIL, RCPT and DATA at once, then the message.
import { readFileSync } from 'node:fs'
import { openConversation } from '../lib/smtp-client.mjs'

const [file, port, sessions, messages, how] = process.argv.slice(2)
const { recipient, letters } = JSON.parse(readFileSync(file, 'utf8'))
const envelopes = letters.map(({ from, message }) => ({
  commands: `MAIL FROM:<${from}>\r\nRCPT TO:<${recipient}>\r\nDATA\r\n`,
  data: Buffer.from(`${message.replace(/^\./gm, '..')}.\r\n`),
}))
let begun = 0

function next() {
  if (begun >= Number(messages)) return null
  begun += 1
  return envelopes[begun % envelopes.length]
}

/** Until all are sent, or for one message. */
async function session(first) {
  const { ask, write, close } = openConversation({ port: Number(port), wait: 600_000 })
  const expect = async (code, line = null) => {
    const reply = await ask(line)
    if (!reply.startsWith(code)) throw new Error(`expected ${code}: ${reply}`)
  }
  await expect('220')
  await expect('250', 'EHLO client.test')
  for (let letter = first; letter !== null; letter = how === 'new' ? null : next()) {
    write(letter.commands)
    for (const code of ['250', '250', '354']) await expect(code)
    write(letter.data)
    await expect('250')
  }
  await ask('QUIT').catch(() => undefined)
  close()
}

async function sendAll() {
  for (let letter = next(); letter !== null; letter = next()) await session(letter)
}

await Promise.all(Array.from({ length: Number(sessions) }, sendAll))
