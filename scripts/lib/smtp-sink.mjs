// A host that accepts every message. As a program it counts them: `node smtp-sink.mjs PORT` prints `mesg=N`, as Postfix's
// smtp-sink does, for which it stands in where that is not installed.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

const END = '\r\n.\r\n'

/**
 * `onMessage` gets the text of each message whose final dot was read, its recipients, and the address of the client, before the
 * reply goes out; it may return another reply.
 */
export async function openSink(onMessage, port = 0) {
  const server = createServer((socket) => serve(socket, onMessage)).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return { port: server.address().port, close: () => server.close() }
}

function serve(socket, onMessage) {
  const session = { recipients: [], message: null, line: '', address: socket.remoteAddress }
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  socket.write('220 sink.test ESMTP\r\n')
  socket.on('data', (chunk) => {
    let text = chunk.toString('latin1')
    let replies = ''
    while (text !== '') {
      const taken = session.message === null ? takeCommand(session, text) : takeText(session, text, onMessage)
      replies += taken.reply
      text = taken.rest
    }
    if (replies !== '') socket.write(replies)
  })
}

function takeCommand(session, text) {
  const end = (session.line + text).indexOf('\r\n')
  if (end === -1) {
    session.line += text
    return { reply: '', rest: '' }
  }
  const line = (session.line + text).slice(0, end)
  const rest = (session.line + text).slice(end + 2)
  session.line = ''
  const verb = line.slice(0, 4).toUpperCase()
  if (verb === 'MAIL') session.recipients = []
  if (verb === 'RCPT') session.recipients.push(/<([^>]*)>/.exec(line)?.[1] ?? '')
  if (verb === 'DATA') session.message = { pieces: [], length: 0, tail: '' }
  return { reply: replyTo(verb), rest }
}

/** Looks for the end only in what is new and the four characters before it: the time is linear in the size of the message. */
function takeText(session, text, onMessage) {
  const { message } = session
  const seam = message.tail + text
  const end = seam.indexOf(END)
  const before = message.length - message.tail.length
  message.pieces.push(text)
  message.length += text.length
  message.tail = seam.slice(1 - END.length)
  if (end === -1) return { reply: '', rest: '' }
  session.message = null
  const whole = message.pieces.join('').slice(0, before + end)
  const reply = onMessage(whole, session.recipients, session.address) ?? '250 2.0.0 Ok'
  return { reply: `${reply}\r\n`, rest: seam.slice(end + END.length) }
}

function replyTo(verb) {
  if (verb === 'EHLO') return '250-sink.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
  if (verb === 'DATA') return '354 go on\r\n'
  if (verb === 'QUIT') return '221 bye\r\n'
  return '250 2.0.0 Ok\r\n'
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  let [count, reported] = [0, 0]
  setInterval(() => {
    if (count !== reported) process.stdout.write(`mesg=${count}\n`)
    reported = count
  }, 10)
  await openSink(() => {
    count += 1
  }, Number(process.argv[2]))
}
