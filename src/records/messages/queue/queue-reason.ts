/** Says why an entry is in the queue, in a few words that many entries share. */
import { describeWait } from './provider-pause.js'
import type { QueueEntry } from './queue.js'
import { waitsForOf } from './queue.js'
import type { QueueStatus } from './queue-status.js'

/** Reply code, and enhanced status code if there is one. */
const codesForm = /^([245]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})\b|\b)/
/** Characters of a reply without a code. */
const MAX_REASON = 80

type Reasons = Pick<QueueEntry, 'leased' | 'held' | 'waits_for' | 'last_response'>

export function reasonOfEntry(entry: Reasons, state: QueueStatus): string {
  if (entry.held === 1) return 'held by the operator'
  if (entry.held === 3) return 'held by a member of its workspace'
  if (entry.held === 4) return `held by ${entry.waits_for}`.slice(0, 2 * MAX_REASON)
  if (entry.leased === 1) return 'being sent'
  const waitsFor = waitsForOf(entry)
  if (waitsFor !== null) return describeWait(waitsFor).slice(0, 2 * MAX_REASON)
  if (state === 'scheduled') return 'scheduled for later'
  return entry.last_response === null ? 'not tried yet' : summarizeReply(entry.last_response)
}

/** The codes of a reply: servers write texts of their own into each. */
function summarizeReply(reply: string): string {
  const [, code, enhanced] = codesForm.exec(reply) ?? []
  if (code === undefined) return reply.slice(0, MAX_REASON)
  return enhanced === undefined ? `answer ${code}` : `answer ${code} ${enhanced}`
}
