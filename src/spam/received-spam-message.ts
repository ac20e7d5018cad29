/**
 * What spam scoring is told of a message that came in: its bytes, and what its record knows
 * of the client that brought it.
 *
 * A record without results of authentication (none were made, or they are not readable) says
 * nothing of them: the rules about them stay silent.
 */

import type { Authentication } from '../messages/inbound/authentication-results.js'
import { foldedResults } from '../messages/inbound/folded-results.js'
import type { InboundEmail } from '../messages/inbound/inbound-email.js'
import type { MimeParts } from '../messages/mime/mime-parts-protocol.js'
import { type SpamCircumstances, spamMessage } from './spam-input.js'
import type { SpamAuthentication, SpamMessage, SpamOrigin } from './spam-message.js'

export type CircumstantialRecord = Pick<
  InboundEmail,
  'client_address' | 'helo' | 'envelope_from' | 'authentication' | 'received_at'
>

export function receivedSpamMessage(email: CircumstantialRecord, raw: Buffer, parts: MimeParts): SpamMessage {
  return spamMessage(raw, parts, circumstancesOf(email))
}

export interface RecordedCircumstances extends SpamCircumstances {
  readonly origin: SpamOrigin
}

export function circumstancesOf(email: CircumstantialRecord): RecordedCircumstances {
  const results = resultsOf(email)
  return {
    receivedAt: email.received_at,
    origin: {
      envelopeFrom: email.envelope_from,
      clientAddress: email.client_address,
      helo: email.helo,
      reverseName: results?.iprev.name ?? null,
    },
    authentication: results === null ? null : words(results),
  }
}

function resultsOf({ authentication }: Pick<InboundEmail, 'authentication'>): Authentication | null {
  const kept = JSON.parse(authentication) as Partial<Authentication>
  const { spf, dkim, dmarc, iprev } = kept
  if (spf === undefined || dkim === undefined || dmarc === undefined || iprev === undefined) return null
  return kept as Authentication
}

/** Of several signatures the best speaks; SPF keeps its full word, of which `softfail` weighs too. */
function words(results: Authentication): SpamAuthentication {
  const { dkim_result: dkim, dmarc_result: dmarc } = foldedResults(results)
  return { spf: results.spf.result, dkim, dmarc, iprev: results.iprev.result }
}
