/** The record of an inbound email as a value, before its content is known and after. */
import type { Selectable } from 'kysely'
import { toJson } from '../../../base/storage/tables/columns.js'
import type { Arrival } from '../../../base/storage/tables/inbound-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

/** The record without its node, which matters only until it is processed. */
export type InboundEmail = Omit<Selectable<Tables['inbound_emails']>, 'node'>

/** What is known before the message is processed. */
export type NewInbound = Pick<
  InboundEmail,
  | 'id'
  | 'workspace_id'
  | 'kind'
  | 'domain'
  | 'envelope_from'
  | 'envelope_to'
  | 'client_address'
  | 'helo'
  | 'spf_result'
  | 'dkim_result'
  | 'dmarc_result'
  | 'authentication'
  | 'received_at'
> & { readonly arrival: Arrival }

/** The fields that processing adds. */
export type InboundContent = Pick<
  InboundEmail,
  | 'message_id'
  | 'reference_ids'
  | 'from_email'
  | 'from_name'
  | 'to_emails'
  | 'cc_emails'
  | 'subject'
  | 'has_html'
  | 'has_text'
  | 'attachment_count'
  | 'spam_status'
  | 'spam_score'
  | 'spam_report'
>

export type ProcessedInbound = InboundContent & Pick<InboundEmail, 'id' | 'workspace_id'> & { readonly at: number }

/** Returns the record as it is until it is processed. `size` is that of the message as stored. */
export function toUnprocessed(known: NewInbound, size: number): InboundEmail {
  return buildRecord(known, { arrival: toJson(known.arrival), size }, unprocessed, processingBegins)
}

/** Returns a record of `toUnprocessed` as `markProcessed` would leave it. */
export function toProcessed(email: InboundEmail, content: ProcessedInbound): InboundEmail {
  return buildRecord(email, email, content, { status: 'processed', processed_at: content.at })
}

type ProcessingState = Pick<InboundEmail, 'status' | 'processed_at'>

const processingBegins: ProcessingState = { status: 'received', processed_at: null }

const unprocessed: InboundContent = {
  message_id: null,
  reference_ids: toJson([]),
  from_email: '',
  from_name: '',
  to_emails: toJson([]),
  cc_emails: toJson([]),
  subject: '',
  has_html: 0,
  has_text: 0,
  attachment_count: 0,
  spam_status: null,
  spam_score: null,
  spam_report: toJson([]),
}

/** Builds the record field by field, because a spread of so many fields takes longer than all other work on it. */
function buildRecord(
  known: Omit<NewInbound, 'arrival'>,
  { arrival, size }: Pick<InboundEmail, 'arrival' | 'size'>,
  content: InboundContent,
  { status, processed_at }: ProcessingState,
): InboundEmail {
  return {
    id: known.id,
    workspace_id: known.workspace_id,
    kind: known.kind,
    status,
    domain: known.domain,
    envelope_from: known.envelope_from,
    envelope_to: known.envelope_to,
    client_address: known.client_address,
    helo: known.helo,
    spf_result: known.spf_result,
    dkim_result: known.dkim_result,
    dmarc_result: known.dmarc_result,
    authentication: known.authentication,
    arrival,
    message_id: content.message_id,
    reference_ids: content.reference_ids,
    from_email: content.from_email,
    from_key: '',
    from_name: content.from_name,
    to_emails: content.to_emails,
    cc_emails: content.cc_emails,
    subject: content.subject,
    has_html: content.has_html,
    has_text: content.has_text,
    attachment_count: content.attachment_count,
    size,
    spam_status: content.spam_status,
    spam_score: content.spam_score,
    spam_report: content.spam_report,
    received_at: known.received_at,
    processed_at,
  }
}
