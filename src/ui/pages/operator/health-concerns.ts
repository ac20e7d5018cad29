/**
 * Finds what needs attention in the state of the service and in the findings of the daily checks. Each item says
 * what to do.
 */
import { formatNumber } from '../../components/format.ts'
import type { DoctorFindings, Health } from './operator-types.ts'

type DoctorFinding = DoctorFindings['findings'][number]

export interface Concern {
  /** A key that is unique in the list. */
  readonly key: string
  readonly tone: 'warn' | 'bad'
  readonly title: string
  readonly text: string
  /** The page on which you repair it. */
  readonly link?: { readonly href: string; readonly label: string }
  /** Lines to copy: commands, settings, DNS records. */
  readonly commands: readonly string[]
}

/** Something that the state of the service shows now. */
interface LiveConcern extends Pick<Concern, 'tone' | 'title' | 'link'> {
  readonly remedy: string
  /** The daily check of the same thing. Its finding is older, so the page does not show it as well. */
  readonly check?: 'disk' | 'event-loop' | 'webhooks'
}

const DAY = 86_400_000
/** Days. The overview uses the same number. */
const CERTIFICATE_SOON = 21
/** A share of the disk. */
const LITTLE_ROOM = 0.1
const LARGE_WAL = 500_000_000
const LONG_DELAY = 200
const FAR_BEHIND = 10_000

/** Failures come first. */
export function findConcerns(health: Health, findings: readonly DoctorFinding[], now: number): readonly Concern[] {
  const live = [...findCertificateConcerns(health, now), ...findStorageConcerns(health), ...findWorkConcerns(health)]
  const others = findings.filter(({ check }) => !live.some((concern) => concern.check === check))
  return [...live.map(fromLive), ...others.map(fromFinding)].toSorted(
    (one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'),
  )
}

function fromLive({ remedy, ...concern }: LiveConcern): Concern {
  return { ...concern, key: concern.title, text: remedy, commands: [] }
}

function fromFinding({ node, check, subject, state, text, remedy }: DoctorFinding): Concern {
  const tone = state === 'fail' ? 'bad' : 'warn'
  const title = node === null ? `${subject} (${check})` : `${subject} (${check}) on node ${node}`
  return { key: title, tone, title, text, commands: remedy }
}

function findCertificateConcerns({ certificate }: Health, now: number): readonly LiveConcern[] {
  const days = (new Date(certificate.expires_at).getTime() - now) / DAY
  if (days <= 0) {
    const remedy = 'Clients refuse the connection. Put a new certificate in its place and send the service SIGHUP.'
    return [{ tone: 'bad', title: 'The certificate has expired', remedy }]
  }
  if (days > CERTIFICATE_SOON) return []
  const remedy = 'Renew it and send the service SIGHUP; a self-signed one is renewed at the next start.'
  return [{ tone: 'warn', title: `The certificate expires in ${Math.ceil(days)} days`, remedy }]
}

function findStorageConcerns({ storage }: Health): readonly LiveConcern[] {
  const { accepts_mail: acceptsMail, disk_free: free, disk_total: total, wal } = storage
  const concerns: LiveConcern[] = []
  if (!acceptsMail) {
    const remedy =
      'The service accepts no new mail. Make room on the disk of the data folder, then it accepts mail again.'
    concerns.push({ check: 'disk', tone: 'bad', title: 'The disk is nearly full', remedy })
  } else if (free < total * LITTLE_ROOM) {
    const remedy = 'Make room, or shorten the retention in the configuration, before new mail is refused.'
    concerns.push({ check: 'disk', tone: 'warn', title: 'Less than a tenth of the disk is free', remedy })
  }
  if (wal > LARGE_WAL) {
    const remedy =
      'A long read, such as a backup by another program, keeps the log from being written back. Look for one.'
    concerns.push({ tone: 'warn', title: 'The write-ahead log is large', remedy })
  }
  return concerns
}

function findWorkConcerns({ webhooks, process, queue }: Health): readonly LiveConcern[] {
  const concerns: LiveConcern[] = []
  if (queue.held > 0) {
    const remedy =
      'Held entries wait until you release them, or until their hold rule ends or their broadcast continues.'
    const link = { href: '/operator/queue?tab=entries&status=held', label: 'Show them' }
    concerns.push({ tone: 'warn', title: `Mail is held in the queue: ${formatEntries(queue.held)}`, remedy, link })
  }
  const remedy = 'Its workspace sees the deliveries, and can repair the endpoint or disable the webhook.'
  if (webhooks.failing > 0) {
    const title = webhooks.failing === 1 ? 'A webhook fails' : `${formatNumber(webhooks.failing)} webhooks fail`
    concerns.push({ check: 'webhooks', tone: 'warn', title, remedy })
  }
  if (webhooks.behind > FAR_BEHIND)
    concerns.push({ check: 'webhooks', tone: 'warn', title: 'A webhook is far behind', remedy })
  if (process.delay_max > LONG_DELAY) {
    const remedy = 'The main thread was blocked. The log may name the cause. An overloaded machine has the same effect.'
    const title = `The event loop was blocked for ${process.delay_max} ms`
    concerns.push({ check: 'event-loop', tone: 'warn', title, remedy })
  }
  return concerns
}

function formatEntries(count: number): string {
  return count === 1 ? '1 entry' : `${formatNumber(count)} entries`
}
