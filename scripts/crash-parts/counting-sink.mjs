// An MX that accepts everything, counts how often each number and each contact's message of the broadcast arrived whole,
// and keeps some tracked messages to be read.
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Tracked messages that wait for their reader. */
const MAX_UNREAD = 100

export async function openCountingSink() {
  const numbers = new Map()
  const contacts = new Map()
  const unread = []
  const server = createServer((socket) => serve(socket, numbers, contacts, unread))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: server.address().port,
    numbers,
    contacts,
    takeMessage: () => unread.shift(),
    close: () => server.close(),
  }
}

/** It has as many lines of text as it states, if it states that. */
function isWhole(message) {
  const stated = /^X-Lines: (\d+)/m.exec(message)?.[1]
  return stated === undefined || message.endsWith(`\r\n\r\n${'some text\r\n'.repeat(Number(stated)).slice(0, -2)}`)
}

/** A number counts when the final dot was read, whether or not our 250 arrives. */
function serve(socket, numbers, contacts, unread) {
  let buffered = ''
  let inData = false
  socket.on('error', () => undefined)
  socket.setNoDelay(true)
  socket.write('220 sink ESMTP\r\n')
  socket.on('data', (chunk) => {
    buffered += chunk.toString('latin1')
    for (;;) {
      if (inData) {
        const end = buffered.indexOf('\r\n.\r\n')
        if (end === -1) return
        const contact = /^To: .*contact(\d+)@/m.exec(buffered)?.[1]
        const number = Number(contact ?? /^X-Number: (\d+)/m.exec(buffered)?.[1])
        const counts = contact === undefined ? numbers : contacts
        if (isWhole(buffered.slice(0, end))) counts.set(number, (counts.get(number) ?? 0) + 1)
        if (contact === undefined && buffered.includes('/v1/track/') && unread.length < MAX_UNREAD)
          unread.push(buffered.slice(0, end))
        buffered = buffered.slice(end + 5)
        inData = false
        socket.write('250 2.0.0 taken\r\n')
        continue
      }
      const end = buffered.indexOf('\r\n')
      if (end === -1) return
      const verb = buffered.slice(0, 4).toUpperCase()
      buffered = buffered.slice(end + 2)
      if (verb === 'EHLO') socket.write('250-sink\r\n250 PIPELINING\r\n')
      else if (verb === 'DATA') {
        inData = true
        socket.write('354 go on\r\n')
      } else if (verb === 'QUIT') socket.end('221 bye\r\n')
      else socket.write('250 2.0.0 ok\r\n')
    }
  })
}
