/** The data of every event about a code: never the code or the text of the message. */

import { type JsonObject, parseJson } from '../../base/storage/tables/columns.js'
import type { AllPayloads } from '../../records/events/payloads.js'
import type { NewCode } from './sms-records.js'

type SmsData = Omit<AllPayloads['sms.verified'], 'verified_at'>

export function toSmsData(
  row: Pick<NewCode, 'id' | 'phone' | 'country' | 'encoding' | 'segments' | 'metadata'>,
): SmsData {
  const { id, phone, country, encoding, segments, metadata } = row
  const given: JsonObject = metadata === null ? {} : parseJson(metadata)
  return { sms_id: id, phone, country, encoding, segments, metadata: given }
}
