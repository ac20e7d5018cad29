/** The record of an inbound message as it is before it is processed. */
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import type { Authentication } from '../../../src/base/mail/authentication-results.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import type { NewInbound } from '../../../src/records/messages/inbound/inbound-record.js'

/** Addresses and lists as plain texts. */
export interface InboundMail
  extends Partial<Omit<NewInbound, 'id' | 'domain' | 'envelope_from' | 'envelope_to' | 'authentication'>> {
  readonly id: string
  readonly domain?: string
  readonly envelope_from?: string
  readonly envelope_to?: readonly string[]
  readonly authentication?: Partial<Authentication>
}

export function inboundMail(more: InboundMail): NewInbound {
  const { domain = 'a.test', envelope_from = 'bob@b.test', envelope_to = ['info@a.test'], authentication = {} } = more
  return {
    workspace_id: 'ws_1',
    kind: 'mail',
    client_address: '192.0.2.1',
    helo: 'mx.b.test',
    spf_result: 'pass',
    dkim_result: 'none',
    dmarc_result: 'none',
    arrival: { earlyTalker: false, listings: [], allowListings: [], spamReason: null },
    // A fixed date would be past its retention: a daemon's housekeeping would remove it, at the minute when it runs.
    received_at: systemClock(),
    ...more,
    domain: domain === '' ? '' : parseDomainName(domain),
    envelope_from: envelope_from === '' ? '' : parseAddress(envelope_from),
    envelope_to: toJson(envelope_to.map(parseAddress)),
    authentication: toJson(authentication),
  }
}
