/**
 * The user of AUTH plays no part, since the key alone says who it is. smtp-server refuses an empty user and one with
 * control characters, so it gets another in its place. Pure.
 */
const STAND_IN = 'user'
const standIn = Buffer.from(STAND_IN).toString('base64')

/** A command `AUTH` with what the client sent at once (RFC 4954 section 4). */
export function replaceUser(command: Buffer): Buffer {
  const [, start = '', method = '', response] =
    /^(AUTH\s+(LOGIN|PLAIN)\s+)(\S+)\s*$/i.exec(command.toString('latin1')) ?? []
  return response === undefined ? command : Buffer.from(start + replaceUserLine(method, response), 'latin1')
}

type Handler = (line: Buffer, done: () => void) => void

/** The handler of the line behind this command, which has the user unless the command had it. */
export function replaceUserAfter(command: Buffer, next: Handler): Handler {
  const method = /^AUTH\s+(LOGIN|PLAIN)\s*$/i.exec(command.toString('latin1'))?.[1]
  if (method === undefined) return next
  return (line, done) => next(Buffer.from(replaceUserLine(method, line.toString('latin1')), 'latin1'), done)
}

/**
 * Replaces a line that has the user: with PLAIN it has the key too (RFC 4616), with LOGIN it has the user alone. `*`
 * ends the exchange.
 */
function replaceUserLine(method: string, line: string): string {
  const response = line.trim()
  if (response === '*') return line
  if (method.toUpperCase() === 'LOGIN') return standIn
  const parts = Buffer.from(response, 'base64').toString('latin1').split('\0')
  if (parts.length !== 3) return line
  return Buffer.from(`\0${STAND_IN}\0${parts[2]}`, 'latin1').toString('base64')
}
