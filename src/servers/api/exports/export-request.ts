/** Parses a request for an export: a type with a range of time, or a broadcast whose recipients are exported. */
import { z } from 'zod'
import type { ExportRow } from '../../../records/exports/export-records.js'
import { recipientOutcomes } from '../../../records/messages/broadcast-outcomes.js'
import { rule } from '../http/input/field-rules.js'
import { missingIssue } from '../http/input/parse-input.js'
import { dayOrMoment, domainName } from '../http/input/values.js'

const OF_BROADCAST = 'broadcast_recipients'
const types = ['email_logs', 'bounces', 'suppressions', 'opens', OF_BROADCAST] as const
export const exportType = z.enum(types, `allowed: ${types.join(', ')}`)

const isOfBroadcast = ({ type }: { readonly type?: unknown }): boolean => type === OF_BROADCAST

/** These fields are of a broadcast's recipients alone, and those of the others have a range of time. */
const fieldRules = [
  ...(['from_date', 'to_date'] as const).map((name) =>
    rule((given) => isOfBroadcast(given) || given[name] !== undefined, name, 'is required', missingIssue),
  ),
  rule(
    (given) => !isOfBroadcast(given) || given['broadcast_id'] !== undefined,
    'broadcast_id',
    'is required',
    missingIssue,
  ),
  ...(['from_date', 'to_date', 'domain'] as const).map((name) =>
    rule((given) => !isOfBroadcast(given) || given[name] === undefined, name, `not allowed: with ${OF_BROADCAST}`),
  ),
  ...(['broadcast_id', 'status'] as const).map((name) =>
    rule((given) => isOfBroadcast(given) || given[name] === undefined, name, `allowed: with ${OF_BROADCAST}`),
  ),
]

export const exportRequest = z
  .strictObject({
    type: exportType,
    from_date: dayOrMoment.optional().meta({
      description: `The first moment: a day begins at 00:00 UTC. Required, except with ${OF_BROADCAST}.`,
      example: '2026-11-01',
    }),
    to_date: dayOrMoment.optional().meta({
      description: 'The end: a day is exported to its end, a moment is not inside. Required like the first moment.',
      example: '2026-11-30',
    }),
    domain: domainName
      .optional()
      .meta({ description: 'Only emails from this domain; of suppressions: only addresses in it.' }),
    broadcast_id: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: `Required with ${OF_BROADCAST}: whose recipients.` }),
    status: z
      .enum(recipientOutcomes, `allowed: ${recipientOutcomes.join(', ')}`)
      .optional()
      .meta({ description: `With ${OF_BROADCAST}: only the recipients that the count of this name counts.` }),
  })
  .check(...fieldRules)
  .superRefine(({ from_date: from, to_date: to }, context) => {
    if (from !== undefined && to !== undefined && from.start > Math.max(to.start, to.end - 1))
      context.addIssue({ code: 'custom', path: ['to_date'], message: 'must not be before from_date' })
  })
  .meta({ example: { type: 'email_logs', from_date: '2026-11-01', to_date: '2026-11-30' } })

type RequestedExport = z.output<typeof exportRequest>
type RequestedRange = Pick<ExportRow, 'type' | 'from_at' | 'to_at' | 'domain' | 'broadcast_id' | 'outcome'>

/** The recipients of a broadcast are all that there are now. `startedAt` is when the broadcast began. */
export function toRequestedRange(
  { type, from_date: from, to_date: to, domain, broadcast_id, status }: RequestedExport,
  { startedAt, now }: { readonly startedAt: number; readonly now: number },
): RequestedRange {
  const times = { from_at: from?.start ?? startedAt, to_at: to?.end ?? now }
  return {
    ...{ type, ...times },
    domain: domain ?? null,
    broadcast_id: broadcast_id ?? null,
    outcome: status ?? null,
  }
}
