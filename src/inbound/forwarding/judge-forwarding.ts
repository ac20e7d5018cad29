/**
 * Decides whether a message is forwarded at all. Pure. Spam is not forwarded, because the servers of the targets would
 * hold it against this one.
 *
 * Mail that fails DMARC under a policy that asks to quarantine or reject it is not forwarded either. A message that has
 * our Delivered-To field for the same address came back: it is in a loop. A message that this server has received
 * several times, at other addresses, is in a loop too: rules that forward to one another would make thousands of one
 * message.
 */
import type { Authentication } from '../../base/mail/authentication-results.js'
import { findFields, type Header, type HeaderField, readFieldValue } from '../../base/mail/header-fields.js'
import type { NotForwardedReason } from '../../base/storage/tables/forward-tables.js'
import type { SpamStatus } from '../../base/storage/tables/inbound-tables.js'

/** This many Delivered-To fields are read. A message has at most one for each hop. */
const MAX_FIELDS = 100
/** Octets that are read of each. A header from outside may have megabytes. */
const MAX_VALUE = 1_024
/** Times that this server has received a message that is passed on, its submission included. */
const MAX_OWN_HOPS = 3

interface ForwardingFacts {
  readonly spamStatus: SpamStatus | null
  readonly dmarc: Authentication['dmarc'] | undefined
  /** Addresses that it was passed on from, in lower case. */
  readonly deliveredTo: ReadonlySet<string>
  /** Times that this server has received it. */
  readonly ownHops: number
  /** The address that the rule matches. */
  readonly address: string
}

/** Null if it may be passed on. */
export function judgeForwarding({
  spamStatus,
  dmarc,
  deliveredTo,
  ownHops,
  address,
}: ForwardingFacts): NotForwardedReason | null {
  if (spamStatus === 'spam') return 'spam'
  if (dmarc?.result === 'fail' && dmarc.policy !== null && dmarc.policy !== 'none') return 'dmarc'
  return ownHops > MAX_OWN_HOPS || deliveredTo.has(address.toLowerCase()) ? 'loop' : null
}

export function readDeliveredTo(raw: Buffer, header: Header): ReadonlySet<string> {
  const fields = findFields(header, 'delivered-to').slice(0, MAX_FIELDS)
  return new Set(fields.map((field) => readFieldValue(raw, field, MAX_VALUE).toLowerCase()))
}

/** Counts our Received fields. */
export function countOwnHops(raw: Buffer, header: Header, hostname: string): number {
  const fields = findFields(header, 'received').slice(0, MAX_FIELDS)
  const mark = ` by ${hostname} with `.toLowerCase()
  const isOwn = (field: HeaderField): boolean =>
    readFieldValue(raw, field, MAX_VALUE).toLowerCase().split(/\s+/).join(' ').includes(mark)
  return fields.filter(isOwn).length
}
