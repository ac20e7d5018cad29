/**
 * Counts how many codes a workspace has sent, by days (UTC). A code counts when the provider accepts it. The answer
 * shows 30 days.
 */

import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import {
  addUsage,
  bucketOf,
  bucketsSince,
  monthWindow,
  SMS_SEGMENTS,
  SMS_SENT,
  windowStart,
} from '../accounts/limits/usage.js'

/** Counts a sent code, in the commit of the provider's acceptance. */
export function countSent(workspaceId: string, segments: number, now: number): readonly Write[] {
  const row = { workspace_id: workspaceId, bucket: bucketOf(monthWindow, now) }
  return [addUsage({ ...row, kind: SMS_SENT, count: 1 }), addUsage({ ...row, kind: SMS_SEGMENTS, count: segments })]
}

interface DayOfSms {
  /** The day, such as `2026-11-22`. */
  readonly date: string
  readonly sms_sent: number
  readonly segments: number
}

interface SmsUsage {
  /** Codes of today. */
  readonly sms_sent: number
  readonly segments: number
  readonly limit_per_day: number
  /** The days, oldest first. Days without codes are omitted. */
  readonly days: readonly DayOfSms[]
}

export async function readSmsUsage(
  read: Read,
  workspaceId: string,
  limitPerDay: number,
  now: number,
): Promise<SmsUsage> {
  const since = windowStart(monthWindow, now)
  const segments = new Map(
    (await bucketsSince(read, { workspaceId, kind: SMS_SEGMENTS, since })).map(({ bucket, count }) => [bucket, count]),
  )
  const sent = await bucketsSince(read, { workspaceId, kind: SMS_SENT, since })
  const today = bucketOf(monthWindow, now)
  return {
    sms_sent: sent.find(({ bucket }) => bucket === today)?.count ?? 0,
    segments: segments.get(today) ?? 0,
    limit_per_day: limitPerDay,
    days: sent.map(({ bucket, count }) => ({
      date: new Date(bucket).toISOString().slice(0, 10),
      sms_sent: count,
      segments: segments.get(bucket) ?? 0,
    })),
  }
}
