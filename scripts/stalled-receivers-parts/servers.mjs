// Hosts that stall, each at an address of its own.
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * `banner`: says nothing. `mail`: answers EHLO and then nothing. `drip`: sends an octet of its greeting each half second.
 * `data`: takes the envelope, and reads nothing of the message.
 */
const greetings = {
  banner: () => undefined,
  mail: (socket) => {
    socket.write('220 slow\r\n')
    socket.once('data', () => socket.write('250 slow\r\n'))
  },
  drip: (socket) => {
    const timer = setInterval(() => socket.write('2'), 500)
    socket.write('220-')
    socket.on('close', () => clearInterval(timer))
  },
  data: (socket) => {
    socket.write('220 slow\r\n')
    socket.on('data', (chunk) => {
      const isData = /^DATA/i.test(chunk.toString('latin1'))
      socket.write(isData ? '354 go\r\n' : '250 ok\r\n')
      if (isData) socket.pause()
    })
  },
}

/** At 127.0.1.1 and the addresses behind it. Returns what to call at the end. */
export async function openStallingHosts(port, count, mode) {
  const sockets = new Set()
  const servers = []
  for (let n = 1; n <= count; n += 1) {
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      socket.resume()
      greetings[mode](socket)
    }).listen(port, stallingAddress(n))
    await once(server, 'listening')
    servers.push(server)
  }
  return {
    count: () => sockets.size,
    close: () => {
      for (const server of servers) server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

export const stallingAddress = (n) => `127.0.1.${n}`
