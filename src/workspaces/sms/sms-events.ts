/** Makes the writes that record events of codes, for the commits of the changes. */
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Write } from '../../base/storage/db/write.js'
import { type JsonObject, parseJson } from '../../base/storage/tables/columns.js'
import type { SmsFault } from '../../base/storage/tables/sms-tables.js'
import { recordEvent } from '../../records/events/event-log.js'
import type { AllPayloads } from '../../records/events/payloads.js'
import type { NewCode } from './sms-records.js'

type CodeOfEvent = Pick<NewCode, 'workspace_id'> & Parameters<typeof toSmsData>[0]

export function recordSmsSent(code: CodeOfEvent & Pick<NewCode, 'expires_at'>, at: number): Write {
  const times = { sent_at: formatTimestamp(at), expires_at: formatTimestamp(code.expires_at) }
  return recordEvent({ ...frameOf(code, at), type: 'sms.sent', data: { ...toSmsData(code), ...times } })
}

export function recordSmsDelivered(code: CodeOfEvent, at: number): Write {
  const data = { ...toSmsData(code), delivered_at: formatTimestamp(at) }
  return recordEvent({ ...frameOf(code, at), type: 'sms.delivered', data })
}

export function recordSmsFailed(code: CodeOfEvent, reason: SmsFault, at: number): Write {
  const data = { ...toSmsData(code), reason, failed_at: formatTimestamp(at) }
  return recordEvent({ ...frameOf(code, at), type: 'sms.failed', data })
}

export function recordSmsVerified(code: CodeOfEvent, at: number): Write {
  const data = { ...toSmsData(code), verified_at: formatTimestamp(at) }
  return recordEvent({ ...frameOf(code, at), type: 'sms.verified', data })
}

function frameOf({ workspace_id: workspaceId }: CodeOfEvent, at: number) {
  return { workspaceId, emailId: null, recipient: null, at }
}

type SmsData = Omit<AllPayloads['sms.verified'], 'verified_at'>

/** The data of every event about a code. It never has the code or the text of the message. */
function toSmsData(row: Pick<NewCode, 'id' | 'phone' | 'country' | 'encoding' | 'segments' | 'metadata'>): SmsData {
  const { id, phone, country, encoding, segments, metadata } = row
  const given: JsonObject = metadata === null ? {} : parseJson(metadata)
  return { sms_id: id, phone, country, encoding, segments, metadata: given }
}
