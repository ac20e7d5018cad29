/**
 * Parses `MAIL FROM:<path> parameters` and `RCPT TO:<path> parameters` (RFC 5321 section 4.1.2). It checks
 * the syntax only.
 *
 * smtp-server's own parser decodes values, turns A-labels into Unicode, refuses quoted local parts with
 * blanks and ignores unknown parameters, and so loses what was sent.
 *
 * A source route is accepted and ignored (appendix C). Blanks after the colon are accepted, because many
 * devices send them. Known limit: a path needs its angle brackets.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { formatForDisplay } from '../../../base/mail/address.js'
import { ProtocolFault } from '../session/smtp-reply.js'

export interface PathCommand {
  /** The address without angle brackets and source route. Empty for `<>`. */
  readonly mailbox: string
  /** The complete command is ASCII. */
  readonly ascii: boolean
  /** Names in upper case. The value is null if it was given without one. */
  readonly parameters: ReadonlyMap<string, string | null>
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds the forbidden characters
const controlCharacters = /[\x00-\x1f\x7f-\x9f]/
const sourceRoute = /^@[^\s,:@]+(?:,@[^\s,:@]+)*:/
const parameterName = /^[A-Za-z0-9][A-Za-z0-9-]*$/

export function parsePathCommand(line: Buffer, start: 'MAIL FROM' | 'RCPT TO'): PathCommand {
  if (!isUtf8(line)) throw buildSyntaxFault('the command is not UTF-8')
  const text = line.toString('utf8')
  if (controlCharacters.test(text)) throw buildSyntaxFault('control characters in the command')
  const colon = text.indexOf(':')
  const open = text.indexOf('<', colon)
  const words = text.slice(0, colon).trimEnd().toUpperCase()
  const close = open === -1 ? -1 : findClosingBracket(text, open + 1)
  if (words !== start || close === -1 || text.slice(colon + 1, open).trim() !== '') {
    throw buildSyntaxFault(`syntax: ${start}:<address>`)
  }
  const parameters = parseParameters(text.slice(close + 1))
  return { mailbox: text.slice(open + 1, close).replace(sourceRoute, ''), ascii: isAscii(line), parameters }
}

/** The value of a parameter that needs one, or null if the parameter is absent. */
export function textOf({ parameters }: PathCommand, name: string): string | null {
  const value = parameters.get(name)
  if (value === undefined) return null
  if (value === null || value === '') throw buildArgumentFault(`${name} needs a value`)
  return value
}

/** Whether a parameter without a value is present. */
export function flagOf({ parameters }: PathCommand, name: string): boolean {
  const value = parameters.get(name)
  if (typeof value === 'string') throw buildArgumentFault(`${name} takes no value`)
  return value === null
}

/** Unknown parameters must be refused, not ignored (RFC 5321 section 4.1.1.11). */
export function refuseUnknown({ parameters }: PathCommand, known: ReadonlySet<string>): void {
  for (const name of parameters.keys()) {
    if (!known.has(name))
      throw new ProtocolFault(555, '5.5.4', `the parameter ${formatForDisplay(name)} is not supported here`)
  }
}

export function buildArgumentFault(message: string): ProtocolFault {
  return new ProtocolFault(501, '5.5.4', message)
}

export function buildUtf8Fault(): ProtocolFault {
  return new ProtocolFault(553, '5.6.7', 'an address that is not ASCII needs the SMTPUTF8 parameter of MAIL')
}

/** The end of the path that begins at `from`. A bracket within quotes belongs to the local part. */
function findClosingBracket(text: string, from: number): number {
  let quoted = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (quoted && char === '\\') at++
    else if (char === '"') quoted = !quoted
    else if (char === '>' && !quoted) return at
  }
  return -1
}

function parseParameters(text: string): ReadonlyMap<string, string | null> {
  const parameters = new Map<string, string | null>()
  if (text === '') return parameters
  if (!text.startsWith(' ')) throw buildSyntaxFault('a blank must follow the path')
  for (const word of text.split(' ')) {
    if (word === '') continue
    const equals = word.indexOf('=')
    const name = (equals === -1 ? word : word.slice(0, equals)).toUpperCase()
    if (!parameterName.test(name)) throw buildArgumentFault(`not a parameter: ${formatForDisplay(word)}`)
    if (parameters.has(name)) throw buildArgumentFault(`${name} is given twice`)
    parameters.set(name, equals === -1 ? null : word.slice(equals + 1))
  }
  return parameters
}

function buildSyntaxFault(message: string): ProtocolFault {
  return new ProtocolFault(501, '5.5.2', message)
}
