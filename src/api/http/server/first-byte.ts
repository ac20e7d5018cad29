/** Looks at what a client says first, and leaves it where it is for whoever takes the connection over. */
import type { Socket } from 'node:net'

/** The first byte of a TLS record that holds a handshake message (RFC 8446 section 5.1). */
export const TLS_HANDSHAKE = 0x16

/** A client that says nothing within `limit` milliseconds is disconnected, and never told of. */
export function peekFirstByte(socket: Socket, limit: number, told: (byte: number) => void): void {
  const timer = setTimeout(() => socket.destroy(), limit)
  const peek = (): void => {
    const first: Buffer | null = socket.read(1)
    if (first === null) return
    clearTimeout(timer)
    socket.off('readable', peek)
    socket.unshift(first)
    told(first[0] ?? 0)
  }
  socket.once('close', () => clearTimeout(timer))
  socket.on('readable', peek)
}
