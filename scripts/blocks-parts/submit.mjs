// One message by SMTP, from a network that needs no key; resolves to the code of the last reply.
import { connect } from 'node:net'

export function submit(port, message) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const words = ['EHLO a.test', 'MAIL FROM:<app@blocks.test>', 'RCPT TO:<bob@sink.test>', 'DATA', message]
    let last = 'none'
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const lines = text.split('\r\n')
      text = lines.pop() ?? ''
      for (const line of lines.filter((one) => /^\d{3} /.test(one))) {
        last = line.slice(0, 3)
        const next = words.shift()
        if (next === undefined || last.startsWith('5')) return socket.destroy()
        socket.write(next)
        socket.write(next === message ? '\r\n.\r\n' : '\r\n')
      }
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(last))
    setTimeout(() => socket.destroy(), 30_000).unref()
  })
}
