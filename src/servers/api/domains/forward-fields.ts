/** The fields of forwarding rules in requests and answers. */

import { z } from 'zod'
import { filterAsync } from '../../../base/platform/async-filter.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { type ForwardRule, MAX_TARGETS } from '../../../workspaces/domains/forwards/forward-rules.js'
import { isConfirmed } from '../../../workspaces/domains/forwards/forward-targets.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { address, timestamp, uuid } from '../http/input/values.js'

const flag = z.boolean('allowed: true or false')
const targets = withMaxSize(MAX_TARGETS, 'addresses', z.array(address))
  .optional()
  .meta({ description: `Up to ${MAX_TARGETS} addresses. Those outside your domains are asked by mail first.` })
const webhookId = z
  .string('allowed: the id of a webhook')
  .max(50, 'allowed: the id of a webhook')
  .nullable()
  .optional()
  .meta({
    description: 'A webhook that gets `email.received` of each message, even if it does not subscribe to that type.',
    example: null,
  })
const keep = flag
  .optional()
  .meta({ description: 'Whether messages are filed as inbound email too. A rule with a webhook always does that.' })
const enabled = flag.optional()

const matchRule = 'allowed: a local part, an address of the domain, or "*"'

export const forwardRequest = z
  .strictObject({
    match: z
      .string(matchRule)
      .max(320, matchRule)
      .meta({ description: 'A local part, or `*` for all that no other rule names. `a` also stands for `a+b`.' }),
    to: targets,
    webhook_id: webhookId,
    keep,
    enabled,
  })
  .meta({ id: 'ForwardRequest', example: { match: 'sales', to: ['ann@example.org'] } })

export const forwardChangeRequest = z
  .strictObject({ to: targets, webhook_id: webhookId, keep, enabled })
  .meta({ id: 'ForwardChange', example: { to: ['ann@example.org'], enabled: true } })

export type ForwardChangeRequest = z.output<typeof forwardChangeRequest>

export const forward = z
  .strictObject({
    id: uuid,
    match: z.string().meta({ example: 'sales' }),
    to: z.array(z.string()).meta({ example: ['ann@example.org'] }),
    unconfirmed: z
      .array(z.string())
      .meta({ description: 'Those of `to` that have not agreed yet: nothing is forwarded to them.', example: [] }),
    webhook_id: z.string().nullable().meta({ example: null }),
    keep: z.boolean(),
    enabled: z.boolean(),
    created_at: timestamp,
  })
  .meta({ id: 'Forward' })

export async function toForwardResource(read: Read, rule: ForwardRule): Promise<z.output<typeof forward>> {
  const to = parseJson(rule.targets)
  return {
    id: rule.id,
    match: rule.local_part,
    to: [...to],
    unconfirmed: [...(await filterAsync(to, async (target) => !(await isConfirmed(read, rule.workspace_id, target))))],
    webhook_id: rule.webhook_id,
    keep: rule.keep === 1,
    enabled: rule.enabled === 1,
    created_at: iso(rule.created_at),
  }
}
