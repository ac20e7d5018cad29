/**
 * Reads the client of an inbound message from its record, for spam scoring, which needs it besides the content.
 *
 * If the record has no readable authentication results, the rules about them do not match.
 */
import type { Authentication, Connection } from '../../base/mail/authentication-results.js'
import { summarizeResults } from '../../base/mail/authentication-results.js'
import { parseJson } from '../../base/storage/tables/columns.js'
import type { InboundEmail } from '../../records/messages/inbound/inbound-record.js'
import type { SpamContext } from './facts/spam-input.js'
import type { SpamAuthentication, SpamOrigin } from './facts/spam-message.js'

type InboundOrigin = Pick<InboundEmail, 'client_address' | 'helo' | 'envelope_from' | 'authentication' | 'received_at'>

interface RecordedContext extends SpamContext {
  readonly origin: SpamOrigin
}

export function spamContextOf(email: InboundOrigin): RecordedContext {
  const { client_address: clientAddress, helo, envelope_from: envelopeFrom } = email
  return buildSpamContext({ clientAddress, helo, envelopeFrom }, parseResults(email), email.received_at)
}

export function buildSpamContext(
  { clientAddress, helo, envelopeFrom }: Pick<Connection, 'clientAddress' | 'helo' | 'envelopeFrom'>,
  results: ScoredResults | null,
  receivedAt: number,
): RecordedContext {
  return {
    receivedAt,
    origin: { envelopeFrom, clientAddress, helo, reverseName: results?.iprev.name ?? null },
    authentication: results === null ? null : toSpamAuthentication(results),
  }
}

type ScoredResults = Pick<Authentication, 'spf' | 'dkim' | 'dmarc' | 'iprev'>

function parseResults({ authentication }: Pick<InboundEmail, 'authentication'>): ScoredResults | null {
  const { spf, dkim, dmarc, iprev } = parseJson(authentication)
  if (spf === undefined || dkim === undefined || dmarc === undefined || iprev === undefined) return null
  return { spf, dkim, dmarc, iprev }
}

/**
 * If there are several signatures, the best result counts. SPF keeps its full result, since `softfail` has a
 * weight.
 */
function toSpamAuthentication(results: ScoredResults): SpamAuthentication {
  const { dkim_result: dkim, dmarc_result: dmarc } = summarizeResults(results)
  return { spf: results.spf.result, dkim, dmarc, iprev: results.iprev.result }
}
