/** What of the state of the service needs attention, each with what to do. */
import { formatNumber } from '../../components/format.ts'
import type { Health } from './operator-types.ts'

interface Concern {
  readonly tone: 'warn' | 'bad'
  readonly title: string
  readonly remedy: string
  /** The page where it is done. */
  readonly link?: { readonly href: string; readonly label: string }
}

const DAY = 86_400_000
/** Days, as on the overview. */
const CERTIFICATE_SOON = 21
/** Share of the disk. */
const LITTLE_ROOM = 0.1
const LARGE_WAL = 500_000_000
const LONG_DELAY = 200
const FAR_BEHIND = 10_000

export function findConcerns(health: Health, now: number): readonly Concern[] {
  return [...findCertificateConcerns(health, now), ...findStorageConcerns(health), ...findWorkConcerns(health)]
}

function findCertificateConcerns({ certificate }: Health, now: number): readonly Concern[] {
  const days = (new Date(certificate.expires_at).getTime() - now) / DAY
  if (days <= 0) {
    const remedy = 'Clients refuse the connection. Put a new certificate in its place and send the service SIGHUP.'
    return [{ tone: 'bad', title: 'The certificate has expired', remedy }]
  }
  if (days > CERTIFICATE_SOON) return []
  const remedy = 'Renew it and send the service SIGHUP; a self-signed one is renewed at the next start.'
  return [{ tone: 'warn', title: `The certificate expires in ${Math.ceil(days)} days`, remedy }]
}

function findStorageConcerns({ storage }: Health): readonly Concern[] {
  const { accepts_mail: acceptsMail, disk_free: free, disk_total: total, wal } = storage
  const concerns: Concern[] = []
  if (!acceptsMail) {
    const remedy =
      'No new mail is accepted. Make room on the disk of the data folder: mail is accepted again by itself.'
    concerns.push({ tone: 'bad', title: 'The disk is nearly full', remedy })
  } else if (free < total * LITTLE_ROOM) {
    const remedy = 'Make room, or shorten the retention in the configuration, before new mail is refused.'
    concerns.push({ tone: 'warn', title: 'Less than a tenth of the disk is free', remedy })
  }
  if (wal > LARGE_WAL) {
    const remedy = 'A long read, such as a backup by another program, keeps it from being written back. Look for one.'
    concerns.push({ tone: 'warn', title: 'The write-ahead log is large', remedy })
  }
  return concerns
}

function findWorkConcerns({ webhooks, process, queue }: Health): readonly Concern[] {
  const concerns: Concern[] = []
  if (queue.held > 0) {
    const remedy = 'Held entries wait until you release them, or until their hold rule ends or their broadcast goes on.'
    const link = { href: '/operator/queue?tab=entries&status=held', label: 'Show them' }
    concerns.push({ tone: 'warn', title: `Mail is held in the queue: ${formatEntries(queue.held)}`, remedy, link })
  }
  if (webhooks.behind > FAR_BEHIND) {
    const remedy = 'An endpoint is slow or fails. Its workspace sees the deliveries and can disable the webhook.'
    concerns.push({ tone: 'warn', title: 'A webhook is far behind', remedy })
  }
  if (process.delay_max > LONG_DELAY) {
    const remedy = 'The main thread was blocked. The log may say by what; a machine that is overloaded shows it too.'
    concerns.push({ tone: 'warn', title: `The event loop was blocked for ${process.delay_max} ms`, remedy })
  }
  return concerns
}

function formatEntries(count: number): string {
  return count === 1 ? '1 entry' : `${formatNumber(count)} entries`
}
