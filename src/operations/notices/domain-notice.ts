/**
 * Warnings about a sending domain whose DNS records are no longer valid, to the owner and the admins of its workspace:
 * one when this is detected, while mail is still sent, and one when sending stops.
 */

import { toOneLine } from '../../base/mail/printable.js'
import type { Read } from '../../base/storage/db/prepared.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import { describeBrokenDomain, describeFailedDomain } from '../concerns/trouble-words.js'
import { formatTime, type NoticeMail, type Piece } from './notice-mail.js'

/** The data of the event; times are ISO 8601. */
export interface DomainEventData {
  readonly domain: string
  /** When sending stops. */
  readonly fails_at?: string
  /** A user asked for the check and has seen its result, so no notice is sent. */
  readonly asked?: boolean
  readonly records?: readonly ReportedRecord[]
}

interface ReportedRecord {
  readonly type: string
  readonly name: string
  readonly expected: string
  readonly status: string
}

export async function buildDomainNotices(
  read: Read,
  workspaceId: string,
  type: 'domain.broken' | 'domain.failed',
  { domain: eventDomain, fails_at: failsAt, asked = false, records = [] }: DomainEventData,
): Promise<readonly NoticeMail[]> {
  if (asked) return []
  const domain = toOneLine(eventDomain)
  const { title: subject, text: opening } =
    type === 'domain.broken'
      ? describeBrokenDomain(domain, failsAt === undefined ? null : formatTime(Date.parse(failsAt)))
      : describeFailedDomain(domain)
  const lines = records.filter(({ status }) => status !== 'verified').map(formatRecordLine)
  const missing: readonly Piece[] = [
    { kind: 'text', text: 'These records are missing or wrong:' },
    { kind: 'list', lines },
  ]
  const pieces: readonly Piece[] = [
    { kind: 'text', text: opening },
    ...(lines.length === 0 ? [] : missing),
    {
      kind: 'text',
      text: 'When you have published these records, verify the domain again. Posthorn also checks it again by itself.',
    },
  ]
  return (await administratorsOf(read, { workspaceId })).map(({ email }) => ({ to: email, subject, pieces }))
}

function formatRecordLine({ name, type, expected }: ReportedRecord): string {
  return toOneLine(`${name} ${type} ${expected}`)
}
