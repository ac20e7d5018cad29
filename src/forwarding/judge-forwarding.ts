/**
 * Whether a message is passed on at all. Pure.
 *
 * Spam is not, because the servers of the targets would hold it against this one; nor is mail that fails DMARC under a
 * policy that asks to quarantine or reject it. A message that has our Delivered-To field for the same address came back:
 * it is in a loop.
 */
import type { Authentication } from '../mail/authentication-results.js'
import { findFields, type Header, type HeaderField, readFieldValue } from '../mail/header-fields.js'
import type { NotForwardedReason } from '../storage/tables/forward-tables.js'
import type { SpamStatus } from '../storage/tables/inbound-tables.js'

/** Delivered-To fields that are looked at: a message has at most one for each hop. */
const MAX_FIELDS = 100
/** Octets of one: ours have an address alone. */
const MAX_LENGTH = 1_000

interface ForwardingFacts {
  readonly spamStatus: SpamStatus | null
  readonly dmarc: Authentication['dmarc'] | undefined
  /** Addresses that it was passed on from, in lower case. */
  readonly deliveredTo: ReadonlySet<string>
  /** The address that the rule matches. */
  readonly address: string
}

/** Null: it may be passed on. */
export function judgeForwarding({
  spamStatus,
  dmarc,
  deliveredTo,
  address,
}: ForwardingFacts): NotForwardedReason | null {
  if (spamStatus === 'spam') return 'spam'
  if (dmarc?.result === 'fail' && dmarc.policy !== null && dmarc.policy !== 'none') return 'dmarc'
  return deliveredTo.has(address.toLowerCase()) ? 'loop' : null
}

export function readDeliveredTo(raw: Buffer, header: Header): ReadonlySet<string> {
  const isShort = ({ start, end }: HeaderField): boolean => end - start <= MAX_LENGTH
  const fields = findFields(header, 'delivered-to').filter(isShort).slice(0, MAX_FIELDS)
  return new Set(fields.map((field) => readFieldValue(raw, field).toLowerCase()))
}
