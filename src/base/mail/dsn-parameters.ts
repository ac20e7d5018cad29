/**
 * The parameters that request delivery status notifications: NOTIFY and ORCPT of RCPT, RET and ENVID of MAIL
 * (RFC 3461 section 4; RFC 6533 section 3).
 *
 * Values are stored decoded and written encoded. `validateEnvid` and `validateOrcpt` take decoded values,
 * because some SMTP libraries decode xtext; `decodeXtext` is for those that do not. Length limits apply to
 * the encoded form, so that every accepted value can be passed on.
 */
import { toPrintableAscii } from './printable.js'
import { Refusal } from './refusal.js'

export type DsnNotify = 'never' | 'success' | 'failure' | 'delay'
export type DsnReturn = 'full' | 'headers'

const MAX_ENVID = 100
const MAX_ORCPT = 500
const MAX_DISPLAY_LENGTH = 40

const notifyWords: ReadonlySet<string> = new Set<DsnNotify>(['never', 'success', 'failure', 'delay'])
const xtext = /^(?:[!-*,-<>-~]|\+[0-9A-F]{2})*$/
const atom = /^[\w!#$%&'*+/=?^`{|}~-]+$/
const printableAscii = /^[\x20-\x7e]*$/

/** Parses `SUCCESS,FAILURE`; NEVER must be alone (section 4.1). */
export function parseNotify(text: string): readonly DsnNotify[] {
  const words = text.toLowerCase().split(',')
  if (!words.every(isNotify)) throw refusalFor('NOTIFY', text, 'NEVER, or a list out of SUCCESS, FAILURE and DELAY')
  const unique = [...new Set(words)]
  if (unique.length > 1 && unique.includes('never')) throw refusalFor('NOTIFY', text, 'NEVER alone, or no NEVER')
  return unique
}

export function formatNotify(notify: readonly DsnNotify[]): string {
  return notify.join(',').toUpperCase()
}

export function parseRet(text: string): DsnReturn {
  const word = text.toUpperCase()
  if (word !== 'FULL' && word !== 'HDRS') throw refusalFor('RET', text, 'FULL or HDRS')
  return word === 'FULL' ? 'full' : 'headers'
}

/** NOTIFY as it is stored if no outcome is to be reported. */
export const NO_NOTICE = formatNotify(['never'])

export function formatRet(ret: DsnReturn): string {
  return ret === 'full' ? 'FULL' : 'HDRS'
}

/** Returns the decoded envelope id if it is valid (section 4.4). */
export function validateEnvid(envid: string): string {
  if (envid === '' || !printableAscii.test(envid) || encodeXtext(envid).length > MAX_ENVID) {
    throw refusalFor('ENVID', envid, `1 to ${MAX_ENVID} characters of xtext, printable ASCII when decoded`)
  }
  return envid
}

/** Returns the original recipient, a decoded `type;address`, if it is valid (section 4.2; RFC 6533 section 3). */
export function validateOrcpt(orcpt: string): string {
  const { type, address } = splitOrcpt(orcpt)
  const decoded = isUtf8Type(type) ? decodeUtf8Address(address) : address
  if (!atom.test(type) || !isAllowedAddress(type, decoded) || formatOrcpt(`${type};${decoded}`).length > MAX_ORCPT) {
    throw refusalFor('ORCPT', orcpt, `type;address, at most ${MAX_ORCPT} characters of xtext`)
  }
  return `${type};${decoded}`
}

/** `type;address` with the address encoded as its type requires. */
export function formatOrcpt(orcpt: string): string {
  const { type, address } = splitOrcpt(orcpt)
  return `${type};${isUtf8Type(type) ? encodeUtf8Address(address) : encodeXtext(address)}`
}

export function encodeXtext(text: string): string {
  return text.replace(/[^!-*,-<>-~]/g, (char) => `+${toHex(char.charCodeAt(0)).padStart(2, '0')}`)
}

/** Decodes xtext; each byte becomes the character with the same code. */
export function decodeXtext(text: string): string {
  if (!xtext.test(text)) throw refusalFor('xtext', text, 'printable ASCII with +XX escapes')
  return text.replace(/\+(..)/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

function isNotify(word: string): word is DsnNotify {
  return notifyWords.has(word)
}

function splitOrcpt(orcpt: string): { readonly type: string; readonly address: string } {
  const semicolon = orcpt.indexOf(';')
  return { type: orcpt.slice(0, Math.max(semicolon, 0)), address: orcpt.slice(semicolon + 1) }
}

function isUtf8Type(type: string): boolean {
  return type.toLowerCase() === 'utf-8'
}

function isAllowedAddress(type: string, address: string): boolean {
  if (address === '') return false
  return isUtf8Type(type) ? !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(address) : printableAscii.test(address)
}

/** Uses utf-8-addr-xtext (RFC 6533 section 3), which works with servers with and without SMTPUTF8. */
function encodeUtf8Address(address: string): string {
  return address.replace(/[^!-*,-<>-[\]-~]/gu, (char) => `\\x{${toHex(char.codePointAt(0) ?? 0).padStart(2, '0')}}`)
}

function decodeUtf8Address(text: string): string {
  return text.replace(/\\x\{((?:10|0?[0-9A-F])?[0-9A-F]{1,4})\}/g, (_, digits: string) =>
    String.fromCodePoint(Number.parseInt(digits, 16)),
  )
}

function toHex(code: number): string {
  return code.toString(16).toUpperCase()
}

function refusalFor(parameter: string, value: string, allowed: string): Refusal {
  const found = toPrintableAscii(value).slice(0, MAX_DISPLAY_LENGTH)
  return new Refusal('invalid-parameter', `${parameter} is ${found}: allowed is ${allowed}`, { parameter })
}
