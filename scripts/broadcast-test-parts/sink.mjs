// An MX that refuses the recipients that begin with "gone", accepts all others, and counts how often each arrived.
import { once } from 'node:events'
import { createServer } from 'node:net'

export async function openBouncingSink(contacts) {
  /** By the number in the address. */
  const arrivals = new Uint8Array(contacts)
  const state = { count: 0 }
  const server = createServer((socket) => serve(socket, arrivals, state))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: server.address().port, arrivals, count: () => state.count, close: () => server.close() }
}

/** A message counts when its final dot was read, whether or not our 250 arrives. */
function serve(socket, arrivals, state) {
  let held = ''
  let number = null
  let isData = false
  socket.on('error', () => undefined)
  socket.setNoDelay(true)
  socket.write('220 sink ESMTP\r\n')
  socket.on('data', (chunk) => {
    held += chunk.toString('latin1')
    let replies = ''
    for (;;) {
      const mark = isData ? '\r\n.\r\n' : '\r\n'
      const end = held.indexOf(mark)
      if (end === -1) break
      const line = held.slice(0, isData ? 0 : end)
      held = held.slice(end + mark.length)
      if (isData) {
        isData = false
        arrivals[number] += 1
        state.count += 1
        replies += '250 2.0.0 taken\r\n'
        continue
      }
      const verb = line.slice(0, 4).toUpperCase()
      isData = verb === 'DATA' && number !== null
      if (verb === 'EHLO') replies += '250-sink\r\n250 PIPELINING\r\n'
      else if (verb === 'MAIL') {
        number = null
        replies += '250 2.1.0 ok\r\n'
      } else if (verb === 'RCPT') {
        const [, kind, digits] = /<(gone|r)(\d+)@/i.exec(line) ?? []
        number = kind === 'r' ? Number(digits) : null
        replies += kind === 'r' ? '250 2.1.5 ok\r\n' : '550 5.1.1 no such user\r\n'
      } else if (verb === 'DATA') replies += isData ? '354 go on\r\n' : '503 5.5.1 no recipient\r\n'
      else if (verb === 'QUIT') replies += '221 2.0.0 bye\r\n'
      else replies += '250 2.0.0 ok\r\n'
    }
    if (replies !== '') socket.write(replies)
  })
}
