/**
 * What spam scoring is told of a message that came in: its bytes, and what its record knows
 * of the client that brought it.
 *
 * A record without results of authentication (none were made, or they are not readable) says
 * nothing of them: the rules about them stay silent.
 */

import type { Authentication } from '../mail/authentication-results.js'
import type { InboundEmail } from '../messages/inbound/inbound-email.js'
import { summarizeResults } from '../messages/inbound/result-summary.js'
import type { ParsedMessage } from '../messages/mime/mime-parts-protocol.js'
import { parseJson } from '../storage/tables/columns.js'
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

type ScoredResults = Pick<Authentication, 'spf' | 'dkim' | 'dmarc' | 'iprev'>

function parseResults({ authentication }: Pick<InboundEmail, 'authentication'>): ScoredResults | null {
  const { spf, dkim, dmarc, iprev } = parseJson(authentication)
  if (spf === undefined || dkim === undefined || dmarc === undefined || iprev === undefined) return null
  return { spf, dkim, dmarc, iprev }
}

/** Of several signatures the best speaks; SPF keeps its full word, of which `softfail` weighs too. */
function toSpamAuthentication(results: ScoredResults): SpamAuthentication {
  const { dkim_result: dkim, dmarc_result: dmarc } = summarizeResults(results)
  return { spf: results.spf.result, dkim, dmarc, iprev: results.iprev.result }
}
