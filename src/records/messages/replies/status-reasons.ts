/**
 * Says what a code alone means, if the text names no reason (`reply-patterns`).
 *
 * The enhanced codes are those of RFC 3463 and the IANA registry, and the three-digit details that Exchange Online
 * adds. Codes that servers send without meaning (X.0.0, X.1.0, X.2.0, plain 550) are left out on purpose, so they stay
 * `unclassified`.
 */
import type { Reason } from '../../../base/mail/reasons.js'
import type { Stage } from '../../../base/mail/reply.js'

const reasonsByDetail: Readonly<Record<string, Reason>> = {
  '1.1': 'bad-mailbox',
  '1.2': 'bad-domain',
  '1.3': 'bad-mailbox',
  '1.6': 'bad-mailbox',
  '1.7': 'sender-rejected',
  '1.8': 'sender-rejected',
  '1.10': 'null-mx',
  '1.90': 'rate-limited',
  '1.351': 'bad-mailbox',
  '2.1': 'mailbox-disabled',
  '2.2': 'mailbox-full',
  '2.3': 'too-large',
  '2.4': 'remote-error',
  '2.121': 'rate-limited',
  '2.122': 'rate-limited',
  '3.0': 'remote-error',
  '3.1': 'remote-error',
  '3.2': 'remote-error',
  '3.3': 'protocol',
  '3.4': 'too-large',
  '3.5': 'remote-error',
  '4.0': 'unreachable',
  '4.1': 'unreachable',
  '4.2': 'connection-lost',
  '4.3': 'dns',
  '4.4': 'bad-domain',
  '4.5': 'rate-limited',
  '4.6': 'routing-loop',
  '4.7': 'expired',
  '4.14': 'routing-loop',
  '4.300': 'expired',
  '4.310': 'bad-domain',
  '4.312': 'dns',
  '4.315': 'timeout',
  '4.316': 'connection-refused',
  '4.317': 'tls',
  '5.1': 'protocol',
  '5.2': 'protocol',
  '5.3': 'rate-limited',
  '5.4': 'protocol',
  '5.6': 'credentials',
  '6.0': 'content',
  '6.1': 'content',
  '6.2': 'content',
  '6.3': 'content',
  '6.5': 'content',
  '6.6': 'content',
  '6.7': 'smtputf8-unsupported',
  '6.8': 'smtputf8-unsupported',
  '6.9': 'smtputf8-unsupported',
  '6.10': 'smtputf8-unsupported',
  '6.11': 'content',
  '7.0': 'policy',
  '7.1': 'policy',
  '7.2': 'policy',
  '7.3': 'policy',
  '7.4': 'tls',
  '7.5': 'policy',
  '7.6': 'policy',
  '7.7': 'authentication',
  '7.8': 'credentials',
  '7.9': 'policy',
  '7.10': 'tls',
  '7.11': 'tls',
  '7.13': 'mailbox-disabled',
  '7.16': 'too-large',
  '7.17': 'policy',
  '7.18': 'policy',
  '7.20': 'authentication',
  '7.21': 'authentication',
  '7.22': 'authentication',
  '7.23': 'authentication',
  '7.24': 'authentication',
  '7.25': 'reverse-dns',
  '7.26': 'authentication',
  '7.27': 'sender-rejected',
  '7.28': 'rate-limited',
  '7.29': 'authentication',
  '7.30': 'tls',
  '7.32': 'authentication',
  '7.40': 'authentication',
  '7.57': 'credentials',
  '7.60': 'sender-rejected',
  '7.64': 'relay-denied',
  '7.124': 'policy',
  '7.133': 'policy',
  '7.134': 'policy',
  '7.136': 'policy',
  '7.508': 'rate-limited',
  '7.509': 'authentication',
  '7.506': 'reverse-dns',
  '7.510': 'policy',
  '7.512': 'content',
  '7.515': 'authentication',
  '7.750': 'sender-rejected',
}

/** The ranges in which Exchange Online numbers its blocks. */
const reasonRanges: readonly (readonly [from: number, to: number, Reason])[] = [
  [501, 514, 'spam-block'],
  [606, 699, 'spam-block'],
  [700, 799, 'rate-limited'],
]

const reasonsByCode: Readonly<Record<number, Reason>> = {
  451: 'remote-error',
  452: 'remote-error',
  500: 'protocol',
  501: 'protocol',
  502: 'protocol',
  503: 'protocol',
  504: 'protocol',
  523: 'too-large',
  525: 'mailbox-disabled',
  530: 'credentials',
  534: 'credentials',
  535: 'credentials',
  538: 'credentials',
  555: 'protocol',
  556: 'bad-domain',
}

/** Returns the reason that the enhanced code names, or null. */
export function reasonOfStatus(status: string | null): Reason | null {
  if (status === null) return null
  const detail = status.slice(status.indexOf('.') + 1)
  const named = reasonsByDetail[detail]
  if (named !== undefined) return named
  const number = detail.startsWith('7.') ? Number(detail.slice(2)) : 0
  return reasonRanges.find(([from, to]) => number >= from && number <= to)?.[2] ?? null
}

/** Returns the reason that the plain code names at this stage, or null. */
export function reasonOfCode(code: number, stage: Stage): Reason | null {
  // RFC 5321: 552 means "exceeded storage allocation". At RCPT the mailbox has exceeded it, later the message.
  if (code === 552) return stage === 'rcpt' ? 'mailbox-full' : 'too-large'
  return reasonsByCode[code] ?? null
}
