/**
 * The user of AUTH plays no part, since the key alone says who it is. smtp-server refuses an empty user and one with
 * control characters, so it gets another in its place. Pure.
 */
const STAND_IN = 'user'
const standIn = Buffer.from(STAND_IN).toString('base64')

/** A command `AUTH` with what the client sent at once (RFC 4954 section 4). */
export function replaceUser(command: string): string {
  const [, start = '', method = '', response] = /^(AUTH\s+(LOGIN|PLAIN)\s+)(\S+)\s*$/i.exec(command) ?? []
  return response === undefined ? command : start + replaceUserLine(method, response)
}

/** A line that has the user: of PLAIN with the key (RFC 4616), of LOGIN alone. `*` ends the exchange. */
export function replaceUserLine(method: string, line: string): string {
  const response = line.trim()
  if (response === '*') return line
  if (method.toUpperCase() === 'LOGIN') return standIn
  const parts = Buffer.from(response, 'base64').toString('latin1').split('\0')
  if (parts.length !== 3) return line
  return Buffer.from(`\0${STAND_IN}\0${parts[2]}`, 'latin1').toString('base64')
}
