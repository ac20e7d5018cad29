/** Describes what needs attention, and names how to repair each. */
import type { components as apiComponents } from '../../api/schema.d.ts'
import type { components } from '../../api/session-schema.d.ts'
import { formatBytes, formatDateTime, formatNumber, formatPercent } from '../../components/format.ts'

type Attention = components['schemas']['Attention']
export type QueueCounts = components['schemas']['QueueCounts']
type Usage = apiComponents['schemas']['PlanUsage'] | apiComponents['schemas']['CreditsUsage']

export interface AttentionItem {
  readonly key: string
  /** `bad` means that mail stops already. */
  readonly tone: 'bad' | 'warn'
  readonly title: string
  readonly text: string
  /** The page on which you repair it. It is null if the text says how. */
  readonly link: { readonly href: string; readonly label: string } | null
}

interface Known {
  readonly attention: Attention
  readonly queue: QueueCounts
  readonly usage: Usage
  /** True if the user acts for the operator, who releases held mail. */
  readonly mayOperate: boolean
  readonly now: number
}

/** Items that stop mail come first. */
export function listAttentionItems({ attention, queue, usage, mayOperate, now }: Known): readonly AttentionItem[] {
  return [
    ...attention.domains.map(toDomainItem),
    ...attention.webhooks.map(toWebhookItem),
    ...listQuotaItems(usage),
    ...listHeldItems(queue, mayOperate),
    ...attention.broadcasts.map(toBroadcastItem),
    ...attention.sms_holds.map(toHoldItem),
    ...listCertificateItems(attention.certificate, now),
  ].toSorted((one, other) => Number(one.tone === 'warn') - Number(other.tone === 'warn'))
}

function toDomainItem({ id, domain, status, fails_at: failsAt }: Attention['domains'][number]): AttentionItem {
  const common = { key: `domain-${id}`, link: { href: `/domains/${id}`, label: `Show the records` } }
  if (failsAt !== null) {
    const text = `Its DNS records are missing. Sending from it stops at ${formatDateTime(failsAt)} unless they return.`
    return { ...common, tone: 'bad', title: `${domain} is about to fail`, text }
  }
  if (status === 'failed') {
    const text = 'Its DNS records are missing or wrong. Publish them, then check them again.'
    return { ...common, tone: 'bad', title: `${domain} cannot send`, text }
  }
  const text = 'Publish its DNS records, then check them. Until then nothing is sent from it.'
  return { ...common, tone: 'warn', title: `${domain} is not verified yet`, text }
}

function toWebhookItem({ id, url, ...webhook }: Attention['webhooks'][number]): AttentionItem {
  const common = { key: `webhook-${id}`, link: { href: `/webhooks/${id}`, label: 'Open the webhook' } }
  const { disabled_reason: reason, failing_since: since } = webhook
  if (reason === null) {
    const time = since === null ? '' : ` since ${formatDateTime(since)}`
    const text = `Each delivery to ${url} has failed${time}. Repair the endpoint; failed deliveries are repeated.`
    return { ...common, tone: 'warn', title: 'A webhook fails', text }
  }
  const why = reason === 'gone' ? 'the endpoint answered 410 Gone' : 'its deliveries failed for days'
  const text = `No events are delivered to ${url}, because ${why}. Repair the endpoint, enable the webhook, and replay what it missed.`
  return { ...common, tone: 'bad', title: 'A webhook was switched off', text }
}

/** The page shows a limit from this share on. */
const NEAR = 0.8

function listQuotaItems(usage: Usage): readonly AttentionItem[] {
  const { inbound } = usage
  const [used, limit, name] =
    'usage' in usage
      ? [usage.usage.emails_sent, usage.usage.emails_limit, 'emails of the last 30 days']
      : [usage.credits_used, usage.credits_total, 'credits']
  return [
    ...toQuotaItem(
      used,
      limit,
      `${formatNumber(used)} of ${formatNumber(limit ?? 0)} ${name} are used.`,
      'Nothing more',
    ),
    ...toQuotaItem(
      inbound.bytes_held,
      inbound.bytes_limit,
      `Stored inbound mail uses ${formatBytes(inbound.bytes_held)} of ${formatBytes(inbound.bytes_limit ?? 0)}.`,
      'No inbound mail',
    ),
  ]
}

function toQuotaItem(used: number, limit: number | null, text: string, what: string): readonly AttentionItem[] {
  if (limit === null || limit === 0 || used < limit * NEAR) return []
  const isOver = used >= limit
  const effect = `${what} is accepted ${isOver ? 'now' : 'at 100 %'}.`
  return [
    {
      key: `quota-${what}`,
      tone: isOver ? 'bad' : 'warn',
      title: isOver
        ? 'A limit of the plan is used up'
        : `${formatPercent(used / limit)} of a limit of the plan is used`,
      text: `${text} ${effect}`,
      link: { href: '/usage', label: 'Usage and limits' },
    },
  ]
}

const queuedEmails = { href: '/emails?status=queued', label: 'Queued emails' } as const

function listHeldItems(counts: QueueCounts, mayOperate: boolean): readonly AttentionItem[] {
  const { held, held_by_members: heldByMembers, complete } = counts
  const say = (count: number): string =>
    `${complete ? '' : 'At least '}${formatNumber(count)} ${count === 1 ? 'recipient waits' : 'recipients wait'}`
  const byOperator: AttentionItem = {
    ...{ key: 'held', tone: 'bad', title: 'Mail is held' },
    text: `${say(held)} until the operator of the service releases the mail.`,
    link: mayOperate ? { href: '/operator/queue', label: 'Open the queue' } : queuedEmails,
  }
  const byMembers: AttentionItem = {
    ...{ key: 'held-by-members', tone: 'warn', title: 'Members hold mail' },
    text: `${say(heldByMembers)} until a member of this workspace releases the mail.`,
    link: queuedEmails,
  }
  return [...(held === 0 ? [] : [byOperator]), ...(heldByMembers === 0 ? [] : [byMembers])]
}

function toBroadcastItem({ id, name, status, ...more }: Attention['broadcasts'][number]): AttentionItem {
  const { waits_until: until, note } = more
  const why = note === null ? '' : ` ${toSentence(note)}`
  const link = { href: `/broadcasts/${id}`, label: 'Open the broadcast' }
  const common = { key: `broadcast-${id}`, tone: 'warn', link } as const
  if (status === 'paused')
    return { ...common, title: `The broadcast “${name}” is paused`, text: `Resume or cancel it.${why}` }
  const time = until === null ? '' : ` It continues at ${formatDateTime(until)}.`
  return { ...common, title: `The broadcast “${name}” waits`, text: `A limit is used up.${time}${why}` }
}

function toHoldItem({ prefix, until }: Attention['sms_holds'][number]): AttentionItem {
  const text =
    `People entered few of the codes that were sent there, which is typical of SMS fraud. Codes are sent again at ` +
    `${formatDateTime(until)}, or when the operator releases the prefix: posthorn sms release ${prefix}`
  return { key: `sms-${prefix}`, tone: 'bad', title: `No codes by SMS to ${prefix}`, text, link: null }
}

const DAY = 86_400_000
/** The page shows the end of the certificate from this number of days on. */
const CERTIFICATE_DAYS = 21

function listCertificateItems(certificate: Attention['certificate'], now: number): readonly AttentionItem[] {
  if (certificate === null) return []
  const left = Math.floor((new Date(certificate.expires_at).getTime() - now) / DAY)
  if (left > CERTIFICATE_DAYS) return []
  const title =
    left < 0
      ? 'The certificate of the service has expired'
      : `The certificate of the service expires in ${left} ${left === 1 ? 'day' : 'days'}`
  const text = 'Renew it, then send the service SIGHUP; a self-signed one is renewed at its next start.'
  return [{ key: 'certificate', tone: left < 7 ? 'bad' : 'warn', title, text, link: null }]
}

function toSentence(note: string): string {
  const text = note.charAt(0).toUpperCase() + note.slice(1)
  return text.endsWith('.') ? text : `${text}.`
}
