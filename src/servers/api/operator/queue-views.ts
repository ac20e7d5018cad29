/** The queue as its routes for the operator show it. */
import { z } from 'zod'
import { nameProviderGroup } from '../../../base/mail/mailbox-providers.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import { queueActs } from '../../../records/messages/queue/change-entries.js'
import { listLargest, type ReasonedGroup, type StateCounts } from '../../../records/messages/queue/entry-groups.js'
import type { ListedEntry } from '../../../records/messages/queue/queue-admin.js'
import type { QueueCensus } from '../../../records/messages/queue/queue-census.js'
import { queueStatuses } from '../../../records/messages/queue/queue-status.js'
import type { QueueWorkState } from '../../../records/messages/queue/queue-work.js'
import {
  describeWaitReason,
  queueStatusOf,
  waitReasonOf,
  waitReasons,
} from '../../../records/messages/queue/wait-reason.js'
import { waitsForOf } from '../../../records/messages/queue/waits-for.js'
import { pageSchema } from '../http/input/paging.js'
import { timestamp } from '../http/input/values.js'

/** Groups of a kind in the answer. */
const MAX_SHOWN = 100
/** Reasons of one provider. */
const MAX_REASONS = 10

const states = { queued: z.int(), deferred: z.int(), scheduled: z.int(), sending: z.int(), held: z.int() }

const providerView = z
  .strictObject({
    provider: z.string().meta({ example: 'google' }),
    name: z.string().meta({ example: 'Google' }),
    total: z.int(),
    due: z.int().meta({ description: 'To be attempted now.' }),
    waiting: z.int().meta({ description: 'Waiting for their next attempt, or for their scheduled time.' }),
    sending: z.int(),
    held: z.int(),
    releasable: z.int().meta({ description: 'Held ones that no hold rule holds, and no paused broadcast.' }),
    oldest_at: timestamp,
    reasons: z.array(
      z.strictObject({
        reason: z.enum(waitReasons).meta({ example: 'greylisted' }),
        description: z.string(),
        total: z.int(),
        last_reply: z.string().nullable().meta({ description: 'Of the newest of them, or what it waits for.' }),
      }),
    ),
    other_reasons: z
      .int()
      .meta({ description: `Entries of other reasons than the ${MAX_REASONS} most frequent ones.` }),
  })
  .meta({ id: 'QueueProvider' })

export const censusView = z
  .strictObject({
    complete: z.boolean(),
    counted_at: timestamp,
    total: z.int(),
    ...states,
    oldest_at: timestamp.nullable(),
    domains: z.array(z.strictObject({ domain: z.string(), total: z.int(), ...states, oldest_at: timestamp })),
    other_domains: z.int().meta({ description: 'Entries of domains that are not in the list.' }),
    reasons: z.array(
      z.strictObject({
        reason: z.string().meta({ example: 'answer 451 4.7.1' }),
        sample: z.string().nullable().meta({ description: 'One of the replies.', example: '451 4.7.1 try later' }),
        total: z.int(),
      }),
    ),
    other_reasons: z.int(),
    providers: z.array(providerView).meta({
      description: 'By the host of the last attempt, before the first one by the domain; largest first, all of them.',
    }),
  })
  .meta({ id: 'QueueCensus' })

export const entryPage = pageSchema(
  z
    .strictObject({
      id: z.uuid(),
      email_id: z.string(),
      workspace_id: z.string(),
      from_email: z.string(),
      recipient: z.string().meta({ example: 'bob@example.com' }),
      domain: z.string(),
      subject: z.string(),
      status: z.enum(queueStatuses),
      reason: z.enum(waitReasons).meta({ description: 'Why it is in the queue.' }),
      hold_rule: z.string().nullable().meta({ description: 'The rule that holds it.', example: null }),
      node: z.string().nullable().meta({ description: 'The node that delivers it. Null if nodes have no names.' }),
      attempts: z.int(),
      enqueued_at: timestamp,
      next_attempt_at: timestamp.nullable().meta({ description: 'Null: it is being sent now, or held.' }),
      waits_for: z.string().nullable(),
      last_response: z.string().nullable(),
    })
    .meta({ id: 'QueueEntry' }),
)

export const workView = z
  .strictObject({
    act: z.enum(queueActs),
    domain: z.string().nullable(),
    provider: z.string().nullable(),
    status: z.enum(queueStatuses).nullable(),
    reason: z.enum(waitReasons).nullable(),
    workspace_id: z.string().nullable(),
    state: z.enum(['running', 'completed', 'stopped', 'failed', 'interrupted']),
    changed: z.int(),
    missed: z.int(),
    started_at: timestamp,
    ended_at: timestamp.nullable(),
    error: z.string().nullable(),
  })
  .meta({ id: 'QueueWork' })

export function showCensus({ complete, countedAt, all, ...census }: QueueCensus): z.output<typeof censusView> {
  const { total, states, oldestAt } = all
  const domains = listLargest(census.domains, MAX_SHOWN)
  const reasons = listLargest(census.reasons, MAX_SHOWN)
  return {
    complete,
    counted_at: iso(countedAt),
    total,
    ...showStates(states),
    oldest_at: total === 0 ? null : iso(oldestAt),
    domains: domains.map(([domain, group]) => ({
      domain,
      total: group.total,
      ...showStates(group.states),
      oldest_at: iso(group.oldestAt),
    })),
    other_domains: total - sumOf(domains),
    reasons: reasons.map(([reason, group]) => ({ reason, sample: group.lastResponse, total: group.total })),
    other_reasons: total - sumOf(reasons),
    providers: listLargest(census.providers).map(showProvider),
  }
}

function showProvider([provider, group]: [string, ReasonedGroup]): z.output<typeof providerView> {
  const { total, due, waiting, releasable, states, oldestAt } = group
  const reasons = listLargest(group.reasons, MAX_REASONS)
  return {
    ...{ provider, name: nameProviderGroup(provider), total, due, waiting, releasable },
    ...{ sending: states.sending, held: states.held, oldest_at: iso(oldestAt) },
    reasons: reasons.map(([reason, entries]) => ({
      ...{ reason, description: describeWaitReason(reason), total: entries.total, last_reply: entries.lastReply },
    })),
    other_reasons: total - sumOf(reasons),
  }
}

function showStates({ queued, deferred, scheduled, sending, held }: StateCounts): StateCounts {
  return { queued, deferred, scheduled, sending, held }
}

function sumOf(groups: readonly [unknown, { readonly total: number }][]): number {
  return groups.reduce((sum, [, { total }]) => sum + total, 0)
}

export function showEntry(entry: ListedEntry): z.output<typeof entryPage>['data'][number] {
  const { id, email_id, workspace_id, from_email, recipient, domain, subject, hold_rule, attempts } = entry
  const status = queueStatusOf(entry)
  const waits = status === 'sending' || status === 'held'
  return {
    ...{ id, email_id, workspace_id, from_email, recipient, domain, subject, status, hold_rule, attempts },
    reason: waitReasonOf(entry),
    node: entry.node === '' ? null : entry.node,
    enqueued_at: iso(entry.enqueued_at),
    next_attempt_at: waits ? null : iso(entry.next_attempt_at),
    waits_for: waitsForOf(entry),
    last_response: entry.last_response,
  }
}

export function showWork({
  act,
  filter,
  state,
  changed,
  missed,
  startedAt,
  endedAt,
  error,
}: QueueWorkState): z.output<typeof workView> {
  return {
    ...{ act, state, changed, missed, error },
    domain: filter.domain ?? null,
    provider: filter.provider ?? null,
    status: filter.status ?? null,
    reason: filter.reason ?? null,
    workspace_id: filter.workspaceId ?? null,
    started_at: iso(startedAt),
    ended_at: endedAt === null ? null : iso(endedAt),
  }
}
