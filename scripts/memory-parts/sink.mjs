// A host that accepts every message, in a process of its own, and stores nothing.
import { fork } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

export async function startSink() {
  const child = fork(fileURLToPath(import.meta.url), ['serve'])
  let taken = 0
  const port = await new Promise((resolve) => {
    child.on('message', (update) => {
      if (update.port !== undefined) resolve(update.port)
      taken = update.taken ?? taken
    })
  })
  return { port, taken: () => taken, stop: () => child.kill() }
}

if (process.argv[2] === 'serve') {
  let taken = 0
  const server = createServer((socket) => {
    let line = ''
    let tail = null
    socket.on('error', () => undefined)
    socket.write('220 sink.test ESMTP\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      if (tail !== null) {
        tail = (tail + text).slice(-5)
        if (tail !== '\r\n.\r\n') return
        tail = null
        taken += 1
        process.send({ taken })
        socket.write('250 2.0.0 Ok\r\n')
        return
      }
      const lines = (line + text).split('\r\n')
      line = lines.pop()
      for (const command of lines) {
        const verb = command.slice(0, 4).toUpperCase()
        if (verb === 'DATA') tail = ''
        socket.write(replies[verb] ?? '250 2.0.0 Ok\r\n')
      }
    })
  })
  const replies = { EHLO: '250-sink.test\r\n250 8BITMIME\r\n', DATA: '354 go on\r\n', QUIT: '221 bye\r\n' }
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
}
