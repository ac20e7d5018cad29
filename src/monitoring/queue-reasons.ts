/**
 * The reason of a queue entry as one word of a closed list.
 *
 * The census groups entries by texts of any kind (`messages/queue/queue-reason`); a label must have a bound.
 */
import { type Reason, reasons } from '../mail/reasons.js'
import { reasonOfCode, reasonOfStatus } from '../messages/replies/status-reasons.js'

const ownWords: ReadonlyMap<string, string> = new Map([
  ['held by the operator', 'held'],
  ['being sent', 'sending'],
  ['scheduled for later', 'scheduled'],
  ['not tried yet', 'untried'],
])

const PAUSED = 'paused'
/** All hosts of the domain are known to be down. */
const UNREACHABLE_HOSTS = 'hosts-down'
const answerForm = /^answer (\d{3})(?: (\S+))?$/

export const queueReasons: readonly string[] = [...ownWords.values(), PAUSED, UNREACHABLE_HOSTS, ...reasons]

export function queueReasonOf(text: string): string {
  const own = ownWords.get(text)
  if (own !== undefined) return own
  if (text.startsWith('waits for its broadcast')) return PAUSED
  if (text.startsWith('waits for ')) return UNREACHABLE_HOSTS
  const [, code, status] = answerForm.exec(text) ?? []
  const reason: Reason | null =
    code === undefined ? null : (reasonOfStatus(status ?? null) ?? reasonOfCode(Number(code), 'rcpt'))
  return reason ?? 'unclassified'
}
