/**
 * Warnings about a sending domain whose DNS records do not hold any more, to the owner and the
 * admins of its workspace: one when that is seen first, while mail still goes out, and one when
 * sending stops.
 */
import { administratorsOf } from '../accounts/members.js'
import type { Address } from '../mail/address.js'
import type { Read } from '../storage/prepared.js'
import { moment, type NoticeMail, oneLine, type Piece } from './notice-mail.js'

/** Of the event. Times are epoch milliseconds or ISO 8601. */
export interface DomainTrouble {
  readonly domain: string
  /** When sending stops. */
  readonly until?: number | string
  readonly records?: readonly { readonly type: string; readonly name: string; readonly expected?: string }[]
}

export function domainNotice(
  read: Read,
  workspaceId: string,
  type: 'domain.broken' | 'domain.failed',
  { domain: given, until, records = [] }: DomainTrouble,
): readonly NoticeMail[] {
  const domain = oneLine(given)
  const stop = until === undefined ? '' : ` on ${moment(new Date(until).getTime())}`
  const [subject, opening] =
    type === 'domain.broken'
      ? [
          `${domain}: DNS records are missing`,
          `The DNS records of ${domain} were checked and do not hold any more. Mail from it still goes out, and stops${stop} if they are not put right.`,
        ]
      : [
          `${domain}: sending has stopped`,
          `The DNS records of ${domain} have not held for too long: no mail from it is accepted any more.`,
        ]
  const lines = records.map(({ type, name, expected }) =>
    oneLine([name, type, ...(expected === undefined ? [] : [expected])].join('  ')),
  )
  const pieces: readonly Piece[] = [
    { kind: 'text', text: opening },
    ...(lines.length === 0
      ? []
      : [{ kind: 'text', text: 'What is missing:' } as const, { kind: 'list', lines } as const]),
    { kind: 'text', text: 'When the records are there again, verify the domain once more.' },
  ]
  return administratorsOf(read, { workspaceId }).map(({ email }) => ({ to: email as Address, subject, pieces }))
}
