/** GET /ui/api/attention: what stops or will stop mail of the workspace until a person repairs it. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { certificateExpiry } from '../../../base/platform/tls-files.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { stalledBroadcasts } from '../../../outbound/broadcasts/stalled-broadcasts.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { findOperatorWorkspace } from '../../../workspaces/accounts/workspace/operator-workspace.js'
import { readTroubledDomains } from '../../../workspaces/domains/troubled-domains.js'
import { holdsOfWorkspace } from '../../../workspaces/sms/holds.js'
import { webhooksOfWorkspace } from '../../../workspaces/webhooks/webhook-records.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

interface AttentionDeps {
  readonly read: Read
  /** PEM, of the certificate that is served now. */
  readonly certificateOf: () => string
}

/** Things of one kind in the answer. */
const MAX_LISTED = 20

const attention = z
  .strictObject({
    domains: z
      .array(
        z.strictObject({
          id: z.string(),
          domain: z.string().meta({ example: 'example.com' }),
          status: z.enum(['pending', 'verified', 'failed']),
          fails_at: timestamp.nullable().meta({ description: 'When sending from a verified domain stops.' }),
        }),
      )
      .meta({ description: 'Those without correct DNS records.' }),
    webhooks: z
      .array(
        z.strictObject({
          id: z.string(),
          url: z.string(),
          disabled_reason: z
            .enum(['gone', 'failing'])
            .nullable()
            .meta({ description: 'Why the service switched it off.' }),
          failing_since: timestamp.nullable(),
        }),
      )
      .meta({ description: 'Those that the service switched off, and those whose attempts all fail.' }),
    broadcasts: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          status: z.string().meta({ example: 'paused' }),
          waits_until: timestamp.nullable(),
          note: z.string().nullable().meta({ description: 'Why the service stopped it.' }),
        }),
      )
      .meta({ description: 'Those that are paused, or wait because a limit is used up.' }),
    sms_holds: z
      .array(z.strictObject({ prefix: z.string().meta({ example: '+44770' }), until: timestamp }))
      .meta({ description: 'Prefixes to which no codes are sent for a while.' }),
    certificate: z
      .strictObject({ expires_at: timestamp })
      .nullable()
      .meta({ description: 'Of the service; null for those who do not act for the operator.' }),
  })
  .meta({ id: 'Attention', description: `Of each kind, at most ${MAX_LISTED}.` })

type Attention = z.output<typeof attention>

export function attentionRoute({ read, certificateOf }: AttentionDeps): Route {
  return route({
    method: 'GET',
    path: '/attention',
    area: 'read',
    tag: 'Overview',
    summary: 'Show what needs attention',
    answers: { 200: { description: 'What a person should look at.', schema: attention } },
    refusals: [],
    run: async ({ principal, now }) => {
      const { workspaceId } = principal
      const broadcasts = await stalledBroadcasts(read, { workspaceId, limit: MAX_LISTED })
      const holds = await holdsOfWorkspace(read, { workspaceId, now, limit: MAX_LISTED })
      return json(200, {
        domains: await listDomains(read, workspaceId),
        webhooks: await listWebhooks(read, workspaceId),
        broadcasts: broadcasts.map(({ waits_until, ...row }) => ({ ...row, waits_until: isoOrNull(waits_until) })),
        sms_holds: holds.map(({ prefix, until_at }) => ({ prefix, until: iso(until_at) })),
        certificate: (await actsForOperator(read, principal))
          ? { expires_at: certificateExpiry({ cert: certificateOf() }) }
          : null,
      } satisfies Attention)
    },
  })
}

async function listDomains(read: Read, workspaceId: string): Promise<Attention['domains']> {
  const domains = await readTroubledDomains(read, workspaceId, MAX_LISTED)
  return domains.map(({ id, domain, status, failsAt }) => ({ id, domain, status, fails_at: isoOrNull(failsAt) }))
}

async function listWebhooks(read: Read, workspaceId: string): Promise<Attention['webhooks']> {
  return (await webhooksOfWorkspace(read, { workspaceId }))
    .filter(({ enabled, disabled_reason, failing_since }) =>
      enabled === 1 ? failing_since !== null : disabled_reason !== null,
    )
    .slice(0, MAX_LISTED)
    .map(({ id, url, disabled_reason, failing_since }) => ({
      ...{ id, url, disabled_reason },
      failing_since: isoOrNull(failing_since),
    }))
}

async function actsForOperator(read: Read, { workspaceId, role }: Principal): Promise<boolean> {
  return role !== 'member' && (await findOperatorWorkspace(read)) === workspaceId
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : iso(at)
}
