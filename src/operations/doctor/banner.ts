/** The first line that an SMTP server sends. */
import type { Socket } from 'node:net'
import { toPrintableAscii } from '../../base/mail/printable.js'

/** Octets; a reply line has at most 512 (RFC 5321 section 4.5.3.1.5). */
const MAX_BANNER = 512

/** Says QUIT and closes the socket. Empty: the server closed it without a line, or said nothing in time. */
export function readBanner(socket: Socket, timeout: number): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const finish = (): void => {
      clearTimeout(timer)
      socket.removeAllListeners().on('error', () => undefined)
      socket.end('QUIT\r\n')
      setTimeout(() => socket.destroy(), 1_000).unref()
      socket.resume()
      resolve(toPrintableAscii(text.split('\n', 1)[0]?.trimEnd() ?? ''))
    }
    const timer = setTimeout(finish, timeout)
    socket.on('data', (chunk) => {
      text = (text + chunk.toString('latin1')).slice(0, MAX_BANNER)
      if (text.includes('\n') || text.length === MAX_BANNER) finish()
    })
    socket.on('error', finish)
    socket.on('close', finish)
  })
}
