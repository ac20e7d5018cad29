/** The words for troubles of a workspace that pages show and that mail tells: title first, then text. Pure. */
import type { FormatTime, Words } from './concern.js'

/** Domain is verified, but its records are missing now. `stop` is when sending stops, formatted. */
export function describeBrokenDomain(domain: string, stop: string | null): Words {
  return {
    title: `DNS records of ${domain} are missing or wrong`,
    text:
      `A check found that DNS records of ${domain} are missing or wrong. Posthorn still sends mail from ${domain}. ` +
      `If the records are not corrected, sending stops${stop === null ? '' : ` on ${stop}`}.`,
  }
}

export function describeFailedDomain(domain: string): Words {
  return {
    title: `Sending from ${domain} has stopped`,
    text: `DNS records of ${domain} are missing or wrong, so Posthorn no longer accepts mail from ${domain}.`,
  }
}

interface DisabledWebhook {
  readonly origin: string
  readonly reason: 'gone' | 'failing'
  /** Formatted. Null if it is not known. */
  readonly since: string | null
}

export function describeDisabledWebhook({ origin, reason, since }: DisabledWebhook): Words {
  const cause =
    reason === 'gone'
      ? 'The endpoint answered 410 (Gone), which says that it no longer exists.'
      : `No request to the endpoint succeeded${since === null ? '' : ` since ${since}`}.`
  return {
    title: `The webhook at ${origin} was disabled`,
    text: `${cause} Posthorn delivers no events to it until you enable it again.`,
  }
}

interface HeldCodes {
  readonly prefix: string
  readonly from: number
  readonly until: number
  readonly sent: number
  readonly verified: number
}

export function describeHeldCodes({ prefix, from, until, sent, verified }: HeldCodes, formatTime: FormatTime): Words {
  return {
    title: `Verification codes to ${prefix} are held`,
    text:
      `Posthorn sends no verification codes to numbers that begin with ${prefix} from ${formatTime(from)} to ` +
      `${formatTime(until)}. Other numbers still get codes. Of ${sent} codes that were sent to such numbers in the hour ` +
      `before, ${verified} ${verified === 1 ? 'was' : 'were'} verified.`,
  }
}

interface BreakerTrouble {
  readonly scope: 'workspace' | 'domain' | 'broadcast'
  readonly id: string
  readonly state: 'warning' | 'held'
}

/** Mail of a scope is held because of bounces or complaints, or soon will be. */
export function describeBreaker({ scope, id, state }: BreakerTrouble): Words {
  const name = scope === 'workspace' ? 'the workspace' : `the ${scope} ${id}`
  return state === 'held'
    ? {
        title: `Mail of ${name} is held`,
        text: `Posthorn holds the mail of ${name}. No message is lost: Posthorn accepts messages and keeps them in the queue.`,
      }
    : {
        title: `Mail of ${name} will be held if more of it fails`,
        text: `Posthorn still sends the mail of ${name}. If more of it fails, Posthorn will hold it.`,
      }
}

/** What to do, by what fails. */
export const breakerAdvice: Readonly<Record<'bounces' | 'complaints', string>> = {
  bounces:
    'Mailbox providers refuse all mail of senders who write to addresses that do not exist. The addresses that bounced are suppressed. Find out where these addresses come from, and write to no other address from that source until you have checked it.',
  complaints:
    'Mailbox providers refuse all mail of senders whom people report. The addresses that complained are suppressed. Write only to people who have asked for it, and make it easy to unsubscribe.',
}

interface CheckedSubject {
  readonly subject: string
  readonly text: string
}

/** What a check of the doctor found about a subject. */
export function describeCheckResult({ subject, text }: CheckedSubject): string {
  return `${subject}: ${text}`
}

interface SilentDns {
  /** The configured servers. Empty if they are those of the system. */
  readonly servers: readonly string[]
  /** How many checks need DNS and found nothing out. */
  readonly missed: number
}

/** No DNS server answers, which is why other checks have no answer. */
export function describeSilentDns({ servers, missed }: SilentDns): string {
  const subject =
    servers.length === 0
      ? 'The DNS servers of the system do'
      : `The DNS ${servers.length === 1 ? 'server' : 'servers'} ${servers.join(', ')} ${servers.length === 1 ? 'does' : 'do'}`
  const effect = missed === 0 ? '' : `; ${missed === 1 ? '1 check' : `${missed} checks`} could not be made`
  return `${subject} not answer${effect}`
}
