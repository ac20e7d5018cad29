// Sends messages over kept sessions as fast as they are accepted, in a process of its own.
//
//     node source.mjs LETTERS.json PORT SESSIONS MESSAGES
//
// Pipelines as far as RFC 2920 allows: MAIL, RCPT and DATA at once, then the message.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

const [file, port, sessions, messages] = process.argv.slice(2)
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

async function session() {
  const socket = connect(Number(port), '127.0.0.1').setNoDelay()
  const replies = readReplies(socket)
  const expect = async (code) => {
    const reply = await replies()
    if (!reply.startsWith(code)) throw new Error(`expected ${code}: ${reply}`)
  }
  await expect('220')
  socket.write('EHLO client.test\r\n')
  await expect('250')
  for (let letter = next(); letter !== null; letter = next()) {
    socket.write(letter.commands)
    for (const code of ['250', '250', '354']) await expect(code)
    socket.write(letter.data)
    await expect('250')
  }
  socket.end('QUIT\r\n')
}

/** Each call resolves to the last line of the next reply. */
function readReplies(socket) {
  const found = []
  const waiting = []
  let rest = ''
  const settle = () => {
    while (found.length > 0 && waiting.length > 0) waiting.shift().resolve(found.shift())
  }
  const fail = (error) => {
    for (const { reject } of waiting.splice(0)) reject(error)
  }
  socket.setEncoding('latin1')
  socket.on('data', (text) => {
    const lines = (rest + text).split('\r\n')
    rest = lines.pop()
    found.push(...lines.filter((line) => line[3] === ' '))
    settle()
  })
  socket.on('error', fail).on('close', () => fail(new Error('the server closed the session')))
  return () =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      settle()
    })
}

await Promise.all(Array.from({ length: Number(sessions) }, session))
