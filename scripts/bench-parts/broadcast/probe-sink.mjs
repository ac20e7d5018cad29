// Accepts every message on PORT; prints the number and the time of each that has one (X-Probe).
import { createServer } from 'node:net'

createServer(serve).listen(Number(process.argv[2]), '127.0.0.1')

function serve(socket) {
  let held = ''
  let inMessage = false
  socket.setNoDelay(true)
  socket.on('error', () => undefined)
  socket.write('220 sink.test ESMTP\r\n')
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    let replies = ''
    for (;;) {
      const mark = inMessage ? '\r\n.\r\n' : '\r\n'
      const end = held.indexOf(mark)
      if (end === -1) break
      if (inMessage) note(held)
      const verb = inMessage ? '.' : held.slice(0, 4).toUpperCase()
      held = held.slice(end + mark.length)
      inMessage = verb === 'DATA'
      replies += replyTo(verb)
    }
    if (replies !== '') socket.write(replies)
  })
}

function note(message) {
  const number = /^X-Probe: (\S+)/m.exec(message.slice(0, 4_000))?.[1]
  if (number !== undefined) process.stdout.write(`${number} ${performance.timeOrigin + performance.now()}\n`)
}

function replyTo(verb) {
  if (verb === 'EHLO') return '250-sink.test\r\n250-PIPELINING\r\n250 8BITMIME\r\n'
  if (verb === 'DATA') return '354 go on\r\n'
  if (verb === 'QUIT') return '221 bye\r\n'
  return '250 2.0.0 Ok\r\n'
}
