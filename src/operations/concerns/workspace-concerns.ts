/** The concerns of a workspace: its domains, webhooks, limits, held mail, broadcasts and verification codes. Pure. */
import { formatTimestamp } from '../../base/platform/clock.js'
import type { Concern } from './concern.js'
import {
  breakerAdvice,
  describeBreaker,
  describeBrokenDomain,
  describeDisabledWebhook,
  describeFailedDomain,
  describeHeldCodes,
} from './trouble-words.js'

interface TroubledDomain {
  readonly id: string
  readonly domain: string
  readonly status: 'pending' | 'verified' | 'failed'
  readonly failsAt: number | null
  /** Mail was sent from it before. */
  readonly wasVerified: boolean
}

export function toDomainConcern({ id, domain, status, failsAt, wasVerified }: TroubledDomain): Concern {
  const common = { key: `domain ${domain}`, link: { href: `/domains/${id}`, label: 'Show the records' }, remedy: [] }
  if (failsAt !== null) {
    return { ...common, severity: 'bad', ...describeBrokenDomain(domain, formatTimestamp(failsAt)) }
  }
  if (status === 'failed' && wasVerified) {
    const { title, text } = describeFailedDomain(domain)
    return { ...common, severity: 'bad', title, text: `${text} Publish the records, then check them again.` }
  }
  const found = status === 'failed' ? 'The last check found its DNS records missing or wrong. ' : ''
  const text = `${found}Publish its DNS records, then check them. Until then nothing is sent from it.`
  return { ...common, severity: 'warn', title: `${domain} is not verified yet`, text }
}

interface TroubledWebhook {
  readonly id: string
  readonly url: string
  readonly disabled_reason: 'gone' | 'failing' | null
  readonly failing_since: number | null
}

export function toWebhookConcern({ id, url, disabled_reason: reason, failing_since: at }: TroubledWebhook): Concern {
  const { origin } = new URL(url)
  const since = at === null ? null : formatTimestamp(at)
  const common = { key: `webhook ${id}`, link: { href: `/webhooks/${id}`, label: 'Open the webhook' }, remedy: [] }
  if (reason === null) {
    const text = `Each delivery to ${url} has failed${since === null ? '' : ` since ${since}`}. Repair the endpoint. Posthorn repeats failed deliveries.`
    return { ...common, severity: 'bad', title: `The webhook at ${origin} fails`, text }
  }
  const { title, text } = describeDisabledWebhook({ origin, reason, since })
  const cure = 'Repair the endpoint, enable the webhook, and replay what it missed.'
  return { ...common, severity: 'bad', title, text: `${text} ${cure}` }
}

interface StalledBroadcast {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly waits_until: number | null
  readonly note: string | null
}

export function toBroadcastConcern({ id, name, status, waits_until: until, note }: StalledBroadcast): Concern {
  const why = note === null ? '' : ` ${toSentence(note)}`
  const link = { href: `/broadcasts/${id}`, label: 'Open the broadcast' }
  const common = { key: `broadcast ${id}`, severity: 'warn', link, remedy: [] } as const
  if (status === 'paused') {
    return { ...common, title: `The broadcast “${name}” is paused`, text: `Resume or cancel it.${why}` }
  }
  const time = until === null ? '' : ` It continues at ${formatTimestamp(until)}.`
  return { ...common, title: `The broadcast “${name}” waits`, text: `A limit is used up.${time}${why}` }
}

function toSentence(note: string): string {
  const text = note.charAt(0).toUpperCase() + note.slice(1)
  return text.endsWith('.') ? text : `${text}.`
}

interface HeldPrefix {
  readonly prefix: string
  readonly held_at: number
  readonly until_at: number
  readonly sent: number
  readonly verified: number
}

export function toCodesConcern(workspaceId: string, hold: HeldPrefix): Concern {
  const { prefix, held_at: from, until_at: until, sent, verified } = hold
  const { title, text } = describeHeldCodes({ prefix, from, until, sent, verified }, formatTimestamp)
  const cure = 'If you expected this traffic, the operator of the server can end the hold with this command:'
  const remedy = [`posthorn sms release ${prefix} --workspace ${workspaceId}`]
  return { key: `codes ${prefix}`, severity: 'bad', title, text: `${text} ${cure}`, link: null, remedy }
}

interface BreakerScope {
  readonly scope: 'workspace' | 'domain' | 'broadcast'
  readonly id: string
  readonly state: 'warning' | 'held'
  readonly cause: 'bounces' | 'complaints'
  /** The figures that led to the state, as part of a sentence. */
  readonly reason: string
}

export function toBreakerConcern(workspaceId: string, { cause, reason, ...trouble }: BreakerScope): Concern {
  const { title, text } = describeBreaker(trouble)
  const isHeld = trouble.state === 'held'
  return {
    ...{ key: `breaker ${trouble.id}`, severity: isHeld ? 'bad' : 'warn', title },
    text: `${text} ${toSentence(reason)} ${breakerAdvice[cause]}`,
    link: null,
    remedy: isHeld ? [`posthorn breaker release ${trouble.id} --workspace ${workspaceId}`] : [],
  }
}

interface HeldMail {
  readonly held: number
  readonly heldByMembers: number
  readonly isComplete: boolean
}

const queuedEmails = { href: '/emails?status=queued', label: 'Queued emails' } as const

interface HeldMailFrame {
  readonly actsForOperator: boolean
  /** The circuit breaker holds mail too. */
  readonly isBroken: boolean
}

export function listHeldMailConcerns(
  { held, heldByMembers, isComplete }: HeldMail,
  { actsForOperator, isBroken }: HeldMailFrame,
): readonly Concern[] {
  const say = (count: number): string =>
    `${isComplete ? '' : 'At least '}${count.toLocaleString('en-US')} ${count === 1 ? 'recipient waits' : 'recipients wait'}`
  const byOperator: Concern = {
    ...{ key: 'held', severity: 'bad', title: 'Mail is held', remedy: [] },
    text: isBroken
      ? `${say(held)} until bounces and complaints are below the limits, or a person releases the mail.`
      : `${say(held)} until the operator of the service releases the mail.`,
    link: actsForOperator ? { href: '/operator/queue', label: 'Open the queue' } : queuedEmails,
  }
  const byMembers: Concern = {
    ...{ key: 'held by members', severity: 'warn', title: 'Members hold mail', remedy: [] },
    text: `${say(heldByMembers)} until a member of this workspace releases the mail.`,
    link: queuedEmails,
  }
  return [...(held === 0 ? [] : [byOperator]), ...(heldByMembers === 0 ? [] : [byMembers])]
}

/** A limit is a concern from this share on. */
const NEAR = 0.8

interface UsedLimit {
  readonly used: number
  /** Null or 0 means that there is no limit. */
  readonly limit: number | null
  /** What is used of what, as a sentence. */
  readonly text: string
  /** What is accepted no more: `Nothing more`. */
  readonly effect: string
}

export function listLimitConcerns({ used, limit, text, effect }: UsedLimit): readonly Concern[] {
  if (limit === null || limit === 0 || used < limit * NEAR) return []
  const isOver = used >= limit
  const title = isOver
    ? 'A limit of the plan is used up'
    : `${Math.floor((used * 100) / limit)} % of a limit of the plan is used`
  return [
    {
      ...{ key: `limit ${effect}`, severity: isOver ? 'bad' : 'warn', title },
      text: `${text} ${effect} is accepted ${isOver ? 'now' : 'at 100 %'}.`,
      link: { href: '/usage', label: 'Usage and limits' },
      remedy: [],
    },
  ]
}
