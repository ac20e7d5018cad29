/**
 * The two fields that tell readers of a message what we found: Authentication-Results
 * (RFC 8601) and Received-SPF (RFC 7208 section 9.1): their values, folded.
 *
 * Every value in them may be a stranger's: what is no token is a quoted string, what is not
 * printable ASCII becomes `?`, what is longer than a line may be is cut.
 */
import type {
  Authentication,
  Connection,
  DkimVerdict,
  SpfVerdict,
} from '../../messages/inbound/authentication-results.js'

const FOLD = '\r\n '
/** Octets of one value: a line stays far under the 998 of RFC 5322 section 2.1.1. */
const longestValue = 300

export function authenticationResults(found: Authentication, connection: Connection): string {
  const { spf, dkim, dmarc, arc, iprev } = found
  const dkimParts = dkim.length === 0 ? ['dkim=none'] : dkim.map(dkimPart)
  const parts = [
    `spf=${spf.result}${reason(spf.reason)} ${spfProperty(spf, connection)}`,
    ...dkimParts,
    `dmarc=${dmarc.result}${reason(dmarc.reason)}${property('header.from', dmarc.domain)}${property('policy.dmarc', dmarc.policy)}`,
    `arc=${arc.result}${reason(arc.reason)}`,
    `iprev=${iprev.result}${comment(iprev.name)}${property('policy.iprev', connection.clientAddress)}`,
  ]
  return [value(connection.hostname), ...parts].join(`;${FOLD}`)
}

export function receivedSpf({ spf }: Authentication, connection: Connection): string {
  const pairs = [
    ['receiver', connection.hostname],
    ['identity', spf.identity],
    ['client-ip', connection.clientAddress],
    ['helo', connection.helo],
    ...(spf.identity === 'mailfrom' ? [['envelope-from', connection.envelopeFrom] as const] : []),
  ] as const
  const text = pairs.map(([name, what]) => `${name}=${keyValue(what)};`).join(FOLD)
  return `${spf.result}${comment(spf.reason)}${FOLD}${text}`
}

function spfProperty({ identity, domain }: SpfVerdict, { helo }: Connection): string {
  return identity === 'helo' ? `smtp.helo=${value(helo)}` : `smtp.mailfrom=${value(domain)}`
}

function dkimPart({ result, domain, selector, reason: why }: DkimVerdict): string {
  return `dkim=${result}${reason(why)}${property('header.d', domain)}${property('header.s', selector)}`
}

function property(name: string, what: string | null): string {
  return what === null || what === '' ? '' : ` ${name}=${value(what)}`
}

function reason(why: string | null): string {
  return why === null ? '' : `${FOLD}reason=${quoted(clean(why))}`
}

function comment(text: string | null): string {
  return text === null ? '' : `${FOLD}(${clean(text).replace(/[\\()]/g, (character) => `\\${character}`)})`
}

/** RFC 8601 section 2.2 `value`: a token of RFC 2045, else a quoted string. */
function value(what: string): string {
  const text = clean(what)
  return /^[!#$%&'*+\-.0-9A-Z^_`a-z{|}~]+$/.test(text) ? text : quoted(text)
}

/** RFC 7208 section 9.1: a dot-atom, else a quoted string. */
function keyValue(what: string): string {
  const text = clean(what)
  const atom = /^[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+(?:\.[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]+)*$/
  return atom.test(text) ? text : quoted(text)
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`
}

function clean(text: string): string {
  const one = text.replace(/[\t\r\n]+/g, ' ').replace(/[^\x20-\x7e]/g, '?')
  return one.length <= longestValue ? one : `${one.slice(0, longestValue)}...`
}
