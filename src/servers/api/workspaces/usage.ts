/** GET /v1/usage: what the workspace has used of its plan. */
import { z } from 'zod'
import type { ReadSettings } from '../../../base/config/live-config.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { InboundBytes } from '../../../workspaces/accounts/limits/inbound-bytes.js'
import type { WorkspacePlans } from '../../../workspaces/accounts/limits/plans.js'
import { readUsage } from '../../../workspaces/accounts/limits/usage.js'
import { readSmsUsage } from '../../../workspaces/sms/sms-usage.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

interface UsageDeps {
  readonly read: Read
  readonly settings: ReadSettings
  readonly limits: { readonly plans: WorkspacePlans; readonly inboundBytes: InboundBytes }
}

const inbound = z
  .strictObject({ bytes_held: z.int(), bytes_limit: z.int().nullable().meta({ description: 'Null: no limit.' }) })
  .meta({ description: 'Stored inbound mail, in bytes: messages, and 8 KB and more for the record of each.' })

const sent = z.int().meta({ description: 'Verification codes that the provider accepted.', example: 12 })
const segments = z
  .int()
  .meta({ description: 'Segments of their messages, which is what most providers charge.', example: 12 })

const sms = z
  .strictObject({
    sms_sent: sent,
    segments,
    limit_per_day: z.int().meta({ description: 'Codes that may be requested in any 24 hours.', example: 5000 }),
    days: z
      .array(
        z.strictObject({
          date: z.iso.date().meta({ description: 'UTC.', example: '2026-11-22' }),
          sms_sent: sent,
          segments,
        }),
      )
      .meta({ description: 'The last 30 days with codes, oldest first.' }),
  })
  .meta({ description: 'Verification codes by SMS of today (UTC).' })

const planUsage = z
  .strictObject({
    plan: z.string(),
    rate_limit: z.strictObject({ requests_per_second: z.int(), burst_limit: z.int() }),
    usage: z.strictObject({
      emails_sent: z.int(),
      emails_limit: z.int().nullable().meta({ description: 'Null: no limit.' }),
      period_start: timestamp,
      period_end: timestamp,
    }),
    inbound,
    sms,
  })
  .meta({ id: 'PlanUsage' })
const creditsUsage = z
  .strictObject({
    credits_remaining: z.int(),
    credits_used: z.int(),
    credits_total: z.int(),
    credits_expire_at: timestamp.nullable().meta({ description: 'Null: never.' }),
    inbound,
    sms,
  })
  .meta({ id: 'CreditsUsage' })

export function usageRoutes({ read, settings, limits: { plans, inboundBytes } }: UsageDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/usage',
      area: 'read',
      tag: 'Usage',
      summary: 'Show what the workspace has used of its plan',
      description: 'If the plan has credits, the answer has those instead of the period.',
      answers: { 200: { description: 'Plan and usage.', schema: z.union([planUsage, creditsUsage]) } },
      refusals: [],
      run: async ({ principal: { workspaceId }, now }) => {
        const inbound = {
          bytes_held: await inboundBytes.readHeld(workspaceId),
          bytes_limit: await inboundBytes.limitOf(workspaceId),
        }
        const sms = await readSmsUsage(read, workspaceId, settings().sms.limits.per_workspace_per_day, now)
        return json(200, { ...(await readUsage(read, workspaceId, plans.find(workspaceId), now)), inbound, sms })
      },
    }),
  ]
}
