/** Notices of what the daily checks found newly, with what to do, to the owner and the admins of the operator's workspace. */

import type { Read } from '../../base/storage/db/prepared.js'
import type { ChecksFailedData } from '../../records/events/payloads.js'
import { administratorsOf } from '../../workspaces/accounts/people/members.js'
import { formatTime, type NoticeMail, type Piece, toOneLine } from './notice-mail.js'

/** Findings of one mail that are described; the others are counted. */
const MAX_DESCRIBED = 50

export function buildDoctorNotices(read: Read, workspaceId: string, data: ChecksFailedData): readonly NoticeMail[] {
  const { findings } = data
  const failures = findings.filter(({ state }) => state === 'fail').length
  const subject = `The daily check found ${describeCounts(failures, findings.length - failures)}`
  const pieces = buildPieces(data, subject)
  return administratorsOf(read, { workspaceId }).map(({ email }) => ({ to: email, subject, pieces }))
}

function describeCounts(failures: number, warnings: number): string {
  const counts = [formatCount(failures, 'failure'), formatCount(warnings, 'warning')]
  return counts.filter((text) => text !== '').join(' and ')
}

function formatCount(count: number, what: string): string {
  if (count === 0) return ''
  return count === 1 ? `a ${what}` : `${count} ${what}s`
}

function buildPieces({ checked_at, findings }: ChecksFailedData, subject: string): readonly Piece[] {
  const sorted = findings.toSorted((one, other) => Number(other.state === 'fail') - Number(one.state === 'fail'))
  const left = sorted.length - MAX_DESCRIBED
  return [
    { kind: 'text', text: `${subject}, at ${formatTime(Date.parse(checked_at))}:` },
    ...sorted.slice(0, MAX_DESCRIBED).flatMap(buildFinding),
    ...(left > 0 ? [{ kind: 'text', text: `${left} more are not listed here.` } as const] : []),
    { kind: 'text', text: 'All findings, and whether they are still there:' },
    { kind: 'list', lines: ['posthorn doctor'] },
    { kind: 'text', text: 'There is at most one such notice a day, and none about what was in an earlier one.' },
  ]
}

function buildFinding({ check, subject, state, text, remedy }: ChecksFailedData['findings'][number]): readonly Piece[] {
  const lines = remedy.map(toOneLine)
  const sentence = toOneLine(`${state === 'fail' ? 'Failure' : 'Warning'} (${check}) ${subject}: ${text}`)
  return [{ kind: 'text', text: sentence }, ...(lines.length === 0 ? [] : [{ kind: 'list', lines } as const])]
}
