/** Broadcasts in answers: our record, and the names under which clients of Resend read the same facts. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { Broadcast, BroadcastSummary } from '../../../outbound/broadcasts/broadcast-records.js'
import {
  type ListedBroadcast,
  toBroadcastResource,
  toListedBroadcast,
} from '../../../outbound/broadcasts/broadcast-resource.js'
import { showBlocks } from '../content/blocks-field.js'
import { timestamp } from '../http/input/values.js'
import { broadcastFields, listedFields } from './broadcast-fields.js'

const also = {
  object: z.literal('broadcast'),
  segment_id: z.string().meta({
    description: 'The same as `audience_id`.',
    example: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10',
  }),
  scheduled_at: timestamp.nullable(),
  sent_at: timestamp.nullable().meta({ description: 'The same as `finished_at`.' }),
}
type Also = z.output<z.ZodObject<typeof also>>

export const listedBroadcast = z.strictObject({ ...listedFields, ...also }).meta({ id: 'ListedBroadcast' })
export const broadcastRecord = z.strictObject({ ...broadcastFields, ...also }).meta({ id: 'Broadcast' })

export function withResendNames<Shown extends ListedBroadcast>(broadcast: Shown): Shown & Also {
  const { audience_id: segment_id, scheduled_for: scheduled_at, finished_at: sent_at } = broadcast
  return { ...broadcast, object: 'broadcast', segment_id, scheduled_at, sent_at }
}

export async function toBroadcastRecord(read: Read, row: Broadcast): Promise<z.output<typeof broadcastRecord>> {
  const resource = withResendNames(await toBroadcastResource(read, row))
  return { ...resource, blocks: showBlocks(resource.blocks) }
}

export async function toListedRecord(read: Read, row: BroadcastSummary): Promise<ListedBroadcast & Also> {
  return withResendNames(await toListedBroadcast(read, row))
}
