/**
 * The input of spam scoring for an inbound message: its content, and what its record knows of the client.
 *
 * If the record has no readable authentication results, the rules about them do not match.
 */

import { type Authentication, summarizeResults } from '../messages/inbound/authentication-results.js'
import type { InboundEmail } from '../messages/inbound/inbound-email.js'
import type { ParsedMessage } from '../messages/mime/mime-parts-protocol.js'
import { buildSpamMessage, type SpamContext } from './spam-input.js'
import type { SpamAuthentication, SpamMessage, SpamOrigin } from './spam-message.js'

export type InboundOrigin = Pick<
  InboundEmail,
  'client_address' | 'helo' | 'envelope_from' | 'authentication' | 'received_at'
>

export function buildInboundSpamMessage(email: InboundOrigin, message: ParsedMessage): SpamMessage {
  return buildSpamMessage(message, spamContextOf(email))
}

export interface RecordedContext extends SpamContext {
  readonly origin: SpamOrigin
}

export function spamContextOf(email: InboundOrigin): RecordedContext {
  const results = parseResults(email)
  return {
    receivedAt: email.received_at,
    origin: {
      envelopeFrom: email.envelope_from,
      clientAddress: email.client_address,
      helo: email.helo,
      reverseName: results?.iprev.name ?? null,
    },
    authentication: results === null ? null : toSpamAuthentication(results),
  }
}

function parseResults({ authentication }: Pick<InboundEmail, 'authentication'>): Authentication | null {
  const stored = JSON.parse(authentication) as Partial<Authentication>
  const { spf, dkim, dmarc, iprev } = stored
  if (spf === undefined || dkim === undefined || dmarc === undefined || iprev === undefined) return null
  return stored as Authentication
}

/**
 * If there are several signatures, the best result counts. SPF keeps its full result, since `softfail` has a
 * weight.
 */
function toSpamAuthentication(results: Authentication): SpamAuthentication {
  const { dkim_result: dkim, dmarc_result: dmarc } = summarizeResults(results)
  return { spf: results.spf.result, dkim, dmarc, iprev: results.iprev.result }
}
