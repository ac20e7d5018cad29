/**
 * The values, folded, of the two fields that report the results: Authentication-Results (RFC 8601) and
 * Received-SPF (RFC 7208 section 9.1).
 *
 * Values may be untrusted input: anything but a token becomes a quoted string, anything but printable ASCII
 * becomes `?`, and long values are cut.
 */
import type { Authentication, Connection, DkimVerdict, SpfVerdict } from '../../../base/mail/authentication-results.js'
import { toPrintableAscii } from '../../../base/mail/printable.js'

const FOLD = '\r\n '
/** Octets of one value, so that a line stays far below the 998 of RFC 5322 section 2.1.1. */
const MAX_VALUE = 300

export interface ResultField {
  readonly name: 'Authentication-Results' | 'Received-SPF'
  /** Folded or not. */
  readonly value: string
}

export function buildResultFields(found: Authentication, connection: Connection): readonly ResultField[] {
  return [
    { name: 'Authentication-Results', value: formatAuthenticationResults(found, connection) },
    { name: 'Received-SPF', value: formatReceivedSpf(found, connection) },
  ]
}

export function formatAuthenticationResults(authentication: Authentication, connection: Connection): string {
  const { spf, dkim, dmarc, arc, iprev } = authentication
  const dkimParts = dkim.length === 0 ? ['dkim=none'] : dkim.map(formatDkim)
  const parts = [
    `spf=${spf.result}${formatReason(spf.reason)} ${formatSpfProperty(spf, connection)}`,
    ...dkimParts,
    `dmarc=${dmarc.result}${formatReason(dmarc.reason)}${formatProperty('header.from', dmarc.domain)}${formatProperty('policy.dmarc', dmarc.policy)}`,
    `arc=${arc.result}${formatReason(arc.reason)}`,
    `iprev=${iprev.result}${formatComment(iprev.name)}${formatProperty('policy.iprev', connection.clientAddress)}`,
  ]
  return [formatValue(connection.hostname), ...parts].join(`;${FOLD}`)
}

export function formatReceivedSpf({ spf }: Authentication, connection: Connection): string {
  const pairs = [
    ['receiver', connection.hostname],
    ['identity', spf.identity],
    ['client-ip', connection.clientAddress],
    ['helo', connection.helo],
    ...(spf.identity === 'mailfrom' ? [['envelope-from', connection.envelopeFrom] as const] : []),
  ] as const
  const text = pairs.map(([name, what]) => `${name}=${formatKeyValue(what)};`).join(FOLD)
  return `${spf.result}${formatComment(spf.reason)}${FOLD}${text}`
}

function formatSpfProperty({ identity, domain }: SpfVerdict, { helo }: Connection): string {
  return identity === 'helo' ? `smtp.helo=${formatValue(helo)}` : `smtp.mailfrom=${formatValue(domain)}`
}

function formatDkim({ result, domain, selector, reason }: DkimVerdict): string {
  return `dkim=${result}${formatReason(reason)}${formatProperty('header.d', domain)}${formatProperty('header.s', selector)}`
}

function formatProperty(name: string, what: string | null): string {
  return what === null || what === '' ? '' : ` ${name}=${formatValue(what)}`
}

function formatReason(reason: string | null): string {
  return reason === null ? '' : `${FOLD}reason=${quoteString(toShortPrintable(reason))}`
}

function formatComment(text: string | null): string {
  return text === null ? '' : `${FOLD}(${toShortPrintable(text).replace(/[\\()]/g, (character) => `\\${character}`)})`
}

/** RFC 8601 section 2.2 `value`: a token of RFC 2045, else a quoted string. */
function formatValue(what: string): string {
  const text = toShortPrintable(what)
  return /^[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]+$/.test(text) ? text : quoteString(text)
}

/** RFC 7208 section 9.1: a dot-atom, else a quoted string. */
function formatKeyValue(what: string): string {
  const text = toShortPrintable(what)
  const atom = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
  return atom.test(text) ? text : quoteString(text)
}

function quoteString(text: string): string {
  return `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`
}

function toShortPrintable(text: string): string {
  const one = toPrintableAscii(text.replace(/[\t\r\n]+/g, ' '))
  return one.length <= MAX_VALUE ? one : `${one.slice(0, MAX_VALUE)}...`
}
